from braidmq.log import Appended
from braidmq.records import Batch

class Produce:
    version: int
    correlation_id: int
    client_id: str
    topics: list[tuple[str | bytes, list[int], list[Batch]]]
    def answer(self, results: list[Appended]) -> bytes: ...

def read_produce(frame: bytes) -> Produce | None: ...
