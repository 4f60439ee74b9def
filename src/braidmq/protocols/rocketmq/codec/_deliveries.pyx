"""Records of the log as messages on their way to a client, whole batches at a time. Hot path.

What is written is what `encode_message` makes of `stored_message`, byte for byte, for what nearly all records are:
messages that a RocketMQ client sent from an IPv4 address, on their first way to a reader. It ends in front of any
other, which the general way must write.

One idea: from the batch as it lies in the log each message is written straight into the answer.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy

from braidmq.records._varints cimport read_varint

from braidmq.model import (
    ATTEMPT_HEADER,
    BORN_HEADER,
    HTTP_HEADER,
    KEYS_HEADER,
    PRESSURE_HEADER,
    ROCKETMQ_HEADER,
    SHARDING_KEY_HEADER,
    TAG_HEADER,
)
from braidmq.protocols.rocketmq.codec.mapping import FRESH, FRESH_KIND
from braidmq.protocols.rocketmq.codec.messages import (
    BORN_HOST_IPV6,
    COMPRESSED,
    COMPRESSION_MASK,
    MAGIC,
    PROPERTIES_BYTES_MAX,
    STORE_HOST_IPV6,
    TOPIC_BYTES_NARROW,
)

cdef enum:
    BATCH_HEADER_BYTES = 61
    BATCH_OVERHEAD_BYTES = 12
    CODEC_BITS = 0x07
    APPEND_TIME_BIT = 0x08
    CONTROL_BIT = 0x20
    OWN_BYTES = 25  # FRESH, and an address of four bytes
    FIXED_BYTES = 88
    HEADERS_MAX = 64

if FRESH.size + 4 != OWN_BYTES:
    raise ImportError("the header of what only RocketMQ has is read here as well, and must be changed in both places")

cdef int32_t STORED_MAGIC = MAGIC
cdef uint8_t OWN_KIND = FRESH_KIND
cdef uint32_t KEPT_BITS = ~(COMPRESSED | COMPRESSION_MASK | BORN_HOST_IPV6 | STORE_HOST_IPV6) & 0xFFFFFFFF
cdef Py_ssize_t PROPERTIES_MAX = PROPERTIES_BYTES_MAX
cdef Py_ssize_t TOPIC_MAX = TOPIC_BYTES_NARROW
cdef bytes OWN = ROCKETMQ_HEADER.encode()
cdef bytes ATTEMPT = ATTEMPT_HEADER.encode()
cdef bytes BORN = BORN_HEADER.encode()
cdef bytes HTTP = HTTP_HEADER.encode()
cdef bytes KEYS = KEYS_HEADER.encode()
cdef bytes SHARDING_KEY = SHARDING_KEY_HEADER.encode()
cdef bytes TAG = TAG_HEADER.encode()
cdef bytes PRESSURE = PRESSURE_HEADER.encode()
cdef bytes CLUSTER = b"CLUSTER\x01"

cdef uint32_t CRC[8][256]


cdef struct Text:
    const uint8_t *data
    Py_ssize_t size


cdef struct Header:
    Text name
    Text value


cdef struct Record:
    int64_t offset
    int64_t time
    Text key
    Text value
    int count
    Header headers[HEADERS_MAX]


cdef class Deliveries:
    """One answer: messages of a queue from an offset on, up to so many, and of bodies up to so much.

    `first_place` is the place of offset 0 in the node, `added` are properties that every message is given. `tags`
    chooses messages; None wants all.
    """

    cdef readonly int64_t offset  # where to go on
    cdef readonly Py_ssize_t count_left
    cdef readonly Py_ssize_t bytes_left
    cdef readonly list times  # of the messages that were written
    cdef readonly bint is_pressure  # the first of them belongs to a test
    cdef public bint is_stuck  # at the offset lies something that the general way must write
    cdef bytes topic
    cdef bytes ip
    cdef bytes added
    cdef frozenset tags
    cdef int queue_id
    cdef int port
    cdef int64_t first_place
    cdef uint8_t *written
    cdef Py_ssize_t used
    cdef Py_ssize_t room

    def __init__(
        self,
        int64_t offset,
        Py_ssize_t count_max,
        Py_ssize_t bytes_max,
        bytes topic not None,
        int queue_id,
        int64_t first_place,
        bytes ip not None,
        int port,
        bytes added not None,
        frozenset tags,
    ):
        self.offset, self.count_left, self.bytes_left = offset, count_max, bytes_max
        self.topic, self.queue_id, self.first_place = topic, queue_id, first_place
        self.ip, self.port, self.added, self.tags = ip, port, added, tags
        self.times = []
        self.is_stuck = len(ip) != 4 or len(topic) > TOPIC_MAX

    def __dealloc__(self):
        free(self.written)

    @property
    def body(self):
        """The messages, one behind the other."""
        return PyBytes_FromStringAndSize(<char *> self.written, self.used) if self.used else b""

    def take(self, const uint8_t[::1] data):
        """Write what batches that lie back to back have; whether to go on behind them."""
        cdef Py_ssize_t at = 0, size, end = data.shape[0]
        cdef int64_t last
        if self.is_stuck:
            return False
        while at < end:
            if end - at < BATCH_HEADER_BYTES:
                return self.stop(self.offset)
            size = <Py_ssize_t> read32(&data[at + 8]) + BATCH_OVERHEAD_BYTES
            if not BATCH_HEADER_BYTES <= size <= end - at:
                return self.stop(self.offset)
            last = read64(&data[at]) + read32(&data[at + 23])
            if not data[at + 22] & CONTROL_BIT and not self.take_batch(&data[at], size):
                return False
            self.offset = max(self.offset, last + 1)
            at += size
        return True

    cdef bint take_batch(self, const uint8_t *data, Py_ssize_t size) except -1:
        """False where enough was written, or where it cannot go on."""
        cdef uint8_t attributes = data[22]
        cdef int64_t base_offset = read64(data), base_time = read64(data + 27), append_time = -1
        cdef Py_ssize_t at = BATCH_HEADER_BYTES
        cdef int32_t count = read32(data + 57), nth
        cdef int64_t start = self.offset
        cdef Record record
        if attributes & CODEC_BITS:
            return self.stop(start)
        for nth in range(count):
            if not read_record(data, size, &at, base_offset, base_time, &record):
                return self.stop(self.offset)
            if record.offset < start or (self.tags is not None and not self.is_wanted(&record)):
                continue
            if self.count_left <= 0 or (self.times and record.value.size > self.bytes_left):
                self.offset = record.offset
                return False
            if attributes & APPEND_TIME_BIT:
                record.time = read64(data + 35)
            if not self.write(&record):
                return self.stop(record.offset)
            self.count_left -= 1
            self.bytes_left -= record.value.size
            self.times.append(record.time)
            self.offset = record.offset + 1
        return True

    cdef bint stop(self, int64_t offset) noexcept:
        self.offset = offset
        self.is_stuck = True
        return False

    cdef bint is_wanted(self, Record *record) except -1:
        """The last header of the name counts, and none is no tag."""
        cdef int nth
        for nth in range(record.count - 1, -1, -1):
            if is_text(&record.headers[nth].name, TAG):
                return record.headers[nth].value.data != NULL and bytes_of(&record.headers[nth].value) in self.tags
        return False

    cdef bint write(self, Record *record) except -1:
        """One message; False, and nothing written, for one that is not as expected."""
        cdef const uint8_t *own = NULL
        cdef bint has_keys = False, is_pressure = False
        cdef int64_t born = -1  # of one that came to its topic later than it was sent
        cdef Py_ssize_t properties = 0, begin = self.used, at, size
        cdef int nth
        cdef Header *header
        for nth in range(record.count):
            header = &record.headers[nth]
            if is_text(&header.name, OWN):
                if own != NULL or header.value.size != OWN_BYTES:
                    return False
                own = header.value.data
                continue
            if header.value.data == NULL or not header.name.size or is_there(record, nth):
                return False
            if is_text(&header.name, ATTEMPT) or is_text(&header.name, HTTP):
                return False
            if is_text(&header.name, BORN):
                born = number_in(&header.value)
                if born < 0:
                    return False
                continue
            if is_text(&header.name, KEYS) or is_text(&header.name, SHARDING_KEY):
                has_keys = True
            if not is_property(&header.name) or not is_property(&header.value):
                return False
            is_pressure |= is_text(&header.name, PRESSURE) and is_text(&header.value, b"true")
            properties += header.name.size + header.value.size + 2
        if own == NULL or own[0] != OWN_KIND or (record.key.data != NULL and not has_keys):
            return False
        size = FIXED_BYTES + record.value.size + 1 + PyBytes_GET_SIZE(self.topic) + 2
        self.make_room(size + properties + PyBytes_GET_SIZE(self.added))
        at = begin + size
        for nth in range(record.count):
            header = &record.headers[nth]
            if not is_text(&header.name, OWN) and not is_text(&header.name, BORN):
                at = self.put_property(at, header)
        if not self.has_cluster(begin + size, at):
            at = self.put(at, <const uint8_t *> PyBytes_AS_STRING(self.added), PyBytes_GET_SIZE(self.added))
        properties = at - begin - size
        if properties > PROPERTIES_MAX:
            return False
        self.write_fixed(self.written + begin, record, own, size + properties)
        if born >= 0:
            write64(self.written + begin + 40, born)
            write64(self.written + begin + 56, record.time)
        self.put(begin + FIXED_BYTES, record.value.data, record.value.size)
        at = begin + FIXED_BYTES + record.value.size
        self.written[at] = <uint8_t> PyBytes_GET_SIZE(self.topic)
        at = self.put(at + 1, <const uint8_t *> PyBytes_AS_STRING(self.topic), PyBytes_GET_SIZE(self.topic))
        self.written[at] = <uint8_t> (properties >> 8)
        self.written[at + 1] = <uint8_t> properties
        self.used = begin + size + properties
        if not self.times:
            self.is_pressure = is_pressure
        return True

    cdef void write_fixed(self, uint8_t *at, Record *record, const uint8_t *own, Py_ssize_t size) noexcept:
        """Everything up to the body; the parts of `own` lie as `mapping.FRESH` has them."""
        write32(at, <uint32_t> size)
        write32(at + 4, <uint32_t> STORED_MAGIC)
        write32(at + 8, checksum(record.value.data, record.value.size) & 0x7FFFFFFF)
        write32(at + 12, <uint32_t> self.queue_id)
        memcpy(at + 16, own + 1, 4)  # the sender's flag
        write64(at + 20, record.offset)
        write64(at + 28, self.first_place + record.offset)
        write32(at + 36, <uint32_t> read32(own + 5) & KEPT_BITS)
        write64(at + 40, record.time)
        memcpy(at + 48, own + 21, 4)  # where it was born
        memcpy(at + 52, own + 17, 4)
        memcpy(at + 56, own + 9, 8)  # when it was stored
        memcpy(at + 64, PyBytes_AS_STRING(self.ip), 4)
        write32(at + 68, <uint32_t> self.port)
        write32(at + 72, 0)
        write64(at + 76, 0)
        write32(at + 84, <uint32_t> record.value.size)

    cdef void make_room(self, Py_ssize_t size) except *:
        cdef uint8_t *larger
        if self.used + size <= self.room:
            return
        self.room = max(2 * self.room, self.used + size + 32768)
        larger = <uint8_t *> realloc(self.written, self.room)
        if larger == NULL:
            raise MemoryError
        self.written = larger

    cdef Py_ssize_t put(self, Py_ssize_t at, const uint8_t *data, Py_ssize_t size) noexcept:
        if size:
            memcpy(self.written + at, data, size)
        return at + size

    cdef Py_ssize_t put_property(self, Py_ssize_t at, Header *header) noexcept:
        at = self.put(at, header.name.data, header.name.size)
        self.written[at] = 1
        at = self.put(at + 1, header.value.data, header.value.size)
        self.written[at] = 2
        return at + 1

    cdef bint has_cluster(self, Py_ssize_t at, Py_ssize_t end) noexcept:
        cdef Py_ssize_t size = PyBytes_GET_SIZE(CLUSTER)
        while at + size <= end:
            if self.written[at] == 67 and memcmp(self.written + at, PyBytes_AS_STRING(CLUSTER), size) == 0:
                return True
            at += 1
        return False


cdef int64_t number_in(Text *text) noexcept nogil:
    """A number in decimal digits; -1 where it is none, or written in an unusual way."""
    cdef int64_t number = 0
    cdef Py_ssize_t at
    if not 1 <= text.size <= 18 or (text.size > 1 and text.data[0] == 48):
        return -1
    for at in range(text.size):
        if not 48 <= text.data[at] <= 57:
            return -1
        number = 10 * number + text.data[at] - 48
    return number


cdef bint read_record(
    const uint8_t *data, Py_ssize_t size, Py_ssize_t *at, int64_t base_offset, int64_t base_time, Record *record
) noexcept nogil:
    """False for what is no record, or has more headers than there is room for."""
    cdef int64_t length = 0, delta = 0, headers = 0
    cdef Py_ssize_t end
    if not read_varint(data, size, at, &length) or length < 1 or length > size - at[0]:
        return False
    end = at[0] + <Py_ssize_t> length
    at[0] += 1  # attributes, which nobody uses
    if not read_varint(data, end, at, &delta):
        return False
    record.time = base_time + delta
    if not read_varint(data, end, at, &delta):
        return False
    record.offset = base_offset + delta
    if not (
        read_text(data, end, at, &record.key)
        and read_text(data, end, at, &record.value)
        and read_varint(data, end, at, &headers)
        and 0 <= headers <= HEADERS_MAX
    ):
        return False
    record.count = 0
    while record.count < headers:
        if not (
            read_text(data, end, at, &record.headers[record.count].name)
            and read_text(data, end, at, &record.headers[record.count].value)
        ):
            return False
        record.count += 1
    return at[0] == end


cdef inline bint read_text(const uint8_t *data, Py_ssize_t end, Py_ssize_t *at, Text *text) noexcept nogil:
    """Bytes behind their length; without data where they are null."""
    cdef int64_t size = 0
    if not read_varint(data, end, at, &size) or size < -1 or size > end - at[0]:
        return False
    text.data, text.size = NULL, 0
    if size >= 0:
        text.data, text.size = data + at[0], <Py_ssize_t> size
    at[0] += text.size
    return True


cdef inline bint is_text(Text *text, bytes word) noexcept:
    cdef Py_ssize_t size = PyBytes_GET_SIZE(word)
    return text.size == size and text.data != NULL and memcmp(text.data, PyBytes_AS_STRING(word), size) == 0


cdef bint is_there(Record *record, int place) noexcept:
    """Whether the name of a header is that of one before it."""
    cdef int nth
    cdef Text *name = &record.headers[place].name
    for nth in range(place):
        if record.headers[nth].name.size == name.size and (
            memcmp(record.headers[nth].name.data, name.data, name.size) == 0
        ):
            return True
    return False


cdef bint is_property(Text *text) except -1:
    """Whether it can stand between the separators of properties: text, and no separator in it."""
    cdef Py_ssize_t at
    cdef bint is_wide = False
    for at in range(text.size):
        if text.data[at] == 1 or text.data[at] == 2:
            return False
        is_wide |= text.data[at] >= 128
    if is_wide:
        try:
            bytes_of(text).decode()
        except UnicodeDecodeError:
            return False
    return True


cdef bytes bytes_of(Text *text):
    return PyBytes_FromStringAndSize(<const char *> text.data, text.size)


cdef inline int32_t read32(const uint8_t *at) noexcept nogil:
    return <int32_t> (<uint32_t> at[0] << 24 | <uint32_t> at[1] << 16 | <uint32_t> at[2] << 8 | at[3])


cdef inline int64_t read64(const uint8_t *at) noexcept nogil:
    return <int64_t> read32(at) << 32 | <uint32_t> read32(at + 4)


cdef inline void write32(uint8_t *at, uint32_t value) noexcept nogil:
    at[0] = <uint8_t> (value >> 24)
    at[1] = <uint8_t> (value >> 16)
    at[2] = <uint8_t> (value >> 8)
    at[3] = <uint8_t> value


cdef inline void write64(uint8_t *at, int64_t value) noexcept nogil:
    write32(at, <uint32_t> (value >> 32))
    write32(at + 4, <uint32_t> value)


cdef uint32_t checksum(const uint8_t *data, Py_ssize_t size) noexcept nogil:
    """As zlib's, eight bytes at a time."""
    cdef uint32_t value = ~<uint32_t> 0, low, high
    while size >= 8:
        low = value ^ (<uint32_t> data[0] | <uint32_t> data[1] << 8 | <uint32_t> data[2] << 16 | <uint32_t> data[3] << 24)
        high = <uint32_t> data[4] | <uint32_t> data[5] << 8 | <uint32_t> data[6] << 16 | <uint32_t> data[7] << 24
        value = (
            CRC[7][low & 0xFF]
            ^ CRC[6][low >> 8 & 0xFF]
            ^ CRC[5][low >> 16 & 0xFF]
            ^ CRC[4][low >> 24]
            ^ CRC[3][high & 0xFF]
            ^ CRC[2][high >> 8 & 0xFF]
            ^ CRC[1][high >> 16 & 0xFF]
            ^ CRC[0][high >> 24]
        )
        data += 8
        size -= 8
    while size > 0:
        value = CRC[0][(value ^ data[0]) & 0xFF] ^ value >> 8
        data += 1
        size -= 1
    return ~value


cdef void fill() noexcept:
    cdef uint32_t byte, value
    cdef int bit, table
    for byte in range(256):
        value = byte
        for bit in range(8):
            value = value >> 1 ^ 0xEDB88320U if value & 1 else value >> 1
        CRC[0][byte] = value
    for byte in range(256):
        for table in range(1, 8):
            CRC[table][byte] = CRC[table - 1][byte] >> 8 ^ CRC[0][CRC[table - 1][byte] & 0xFF]


fill()
