"""Commands and messages as hypothesis draws them."""

from hypothesis import strategies as st

from braidmq.protocols.rocketmq.codec import BatchedMessage, Command, Host, Language, Serialization, StoredMessage
from braidmq.protocols.rocketmq.codec.messages import write_properties

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
INTS = st.integers(-(1 << 31), (1 << 31) - 1)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
CODES = st.integers(0, 0x7FFF) | st.sampled_from([200050, 200151])
FIELDS = st.dictionaries(TEXT.filter(bool), TEXT.filter(bool), max_size=6)
HOSTS = st.builds(Host, st.binary(min_size=4, max_size=4) | st.binary(min_size=16, max_size=16), INTS)

COMMANDS = st.builds(
    Command,
    code=CODES.filter(lambda code: not 3442 <= code <= 3448 and code != 3543),
    opaque=INTS,
    flag=st.integers(0, 3).map(lambda bits: bits & 2),
    fields=FIELDS,
    body=st.binary(max_size=200),
    remark=st.none() | TEXT.filter(bool),
    language=st.sampled_from(Language),
    version=st.integers(0, 0x7FFF),
    serialization=st.sampled_from(Serialization),
)

PROPERTY_NAMES = st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "__SHARDINGKEY"]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=8
)
PROPERTY_VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x02"), max_size=12)
PROPERTIES = st.dictionaries(PROPERTY_NAMES, PROPERTY_VALUES, max_size=6).map(write_properties)

BATCHED = st.builds(BatchedMessage, body=st.binary(max_size=60), properties=PROPERTIES, flag=INTS)


@st.composite
def stored_messages(draw: st.DrawFn) -> StoredMessage:
    """With the bits of `sys_flag` that the addresses ask for, as they are when a message has been written."""
    born_host, store_host = draw(HOSTS), draw(HOSTS)
    bits = draw(INTS) & ~0x731 | 0x10 * born_host.is_ipv6 | 0x20 * store_host.is_ipv6
    return StoredMessage(
        topic=draw(TEXT | TEXT.map(lambda text: (text + "t") * 130)),
        body=draw(st.binary(max_size=100)),
        properties=draw(PROPERTIES),
        queue_id=draw(INTS),
        queue_offset=draw(LONGS),
        physical_offset=draw(LONGS),
        flag=draw(INTS),
        sys_flag=bits,
        born_ms=draw(LONGS),
        born_host=born_host,
        store_ms=draw(LONGS),
        store_host=store_host,
        reconsume_times=draw(INTS),
        prepared_offset=draw(LONGS),
    )
