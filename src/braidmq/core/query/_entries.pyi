from braidmq.records._batch import Buffer

def entries_of(
    records: Buffer,
    count: int,
    base_offset: int,
    base_time: int,
    append_time: int,
    first: int,
    begin: int,
    until: int,
) -> tuple[bytes, int, int, int] | None: ...
def entries_of_stretch(
    data: Buffer, first: int, begin: int, until: int, records_max: int, entries_max: int
) -> tuple[bytes, int, int, int, int, int] | None: ...
