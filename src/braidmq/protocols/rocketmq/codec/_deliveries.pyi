from braidmq.records._batch import Buffer

class Deliveries:
    offset: int
    count_left: int
    bytes_left: int
    times: list[int]
    is_pressure: bool
    is_stuck: bool

    def __init__(
        self,
        offset: int,
        count_max: int,
        bytes_max: int,
        topic: bytes,
        queue_id: int,
        first_place: int,
        ip: bytes,
        port: int,
        added: bytes,
        tags: frozenset[bytes] | None,
    ) -> None: ...
    @property
    def body(self) -> bytes: ...
    def take(self, data: Buffer) -> bool: ...
