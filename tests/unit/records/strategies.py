"""Records as hypothesis draws them."""

from hypothesis import strategies as st

from braidmq.records import Record

TIMES = st.integers(-(1 << 40), 1 << 45)
HEADER_NAMES = st.sampled_from(["TAGS", "KEYS", "a", "", "é"])
HEADERS = st.lists(st.tuples(HEADER_NAMES, st.none() | st.binary(max_size=10)), max_size=4)
BYTES = st.none() | st.binary(max_size=40) | st.just(b"x" * 5000)


@st.composite
def records(draw: st.DrawFn, min_size: int = 1) -> list[Record]:
    """Records with the offsets 0, 1, 2 and so on; their times may go back, and names of headers repeat."""
    drawn = draw(st.lists(st.tuples(TIMES, BYTES, BYTES, HEADERS), min_size=min_size, max_size=6))
    return [Record(offset, *fields) for offset, fields in enumerate(drawn)]
