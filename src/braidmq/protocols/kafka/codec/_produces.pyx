"""Plain produce requests: from the bytes of a frame to checked batches, and from offsets to the answer. Hot path.

A plain request is what producers send most: outside of transactions, waiting for its answer, one whole batch of format
2 for each partition. What becomes of it here is what `decode_request` and `split_batches` make of the same bytes, and
its answer is what `encode_response` writes. Whatever is not quite as expected is left to them: None says so.

One idea: nothing is made of a request but its batches, and where each of them goes.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from braidmq.records._crc32c cimport extended

from braidmq.records import BATCH_HEADER_BYTES, BATCH_OVERHEAD_BYTES, CODEC_MASK, Batch, Codec
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest

cdef enum:
    BATCHES_MIN_VERSION = 3
    STARTS_MIN_VERSION = 5
    ZSTD_MIN_VERSION = 7
    ERRORS_MIN_VERSION = 8
    FLEXIBLE_MIN_VERSION = 9
    IDS_MIN_VERSION = 13
    VERSION_MAX = 13
    ID_BYTES = 16
    ARRAY_MAX = 1 << 12  # of topics, and of partitions; more are rare
    MAGIC = 2
    UNUSUAL_BITS = 0x30  # of a transaction, or of control records
    CHECKED_AT = 21  # the checksum is of what lies behind it
    VIEW_BYTES_MIN = 1 << 16  # a smaller batch is copied, and does not keep its frame

cdef Py_ssize_t HEADER = BATCH_HEADER_BYTES
cdef Py_ssize_t OVERHEAD = BATCH_OVERHEAD_BYTES
cdef int CODECS = CODEC_MASK
cdef int ZSTD = int(Codec.ZSTD)
cdef object new_tuple = tuple.__new__

if ProduceRequest.VERSIONS[1] != VERSION_MAX or ProduceRequest.FLEXIBLE_SINCE != FLEXIBLE_MIN_VERSION:
    raise ImportError("the layouts of Produce are written here as well, and must be changed in both places")


cdef class Produce:
    """A plain request. `topics` has for each topic its name (or, as bytes, its id), its partitions' indexes, and their
    batches."""

    cdef readonly int version
    cdef readonly int correlation_id
    cdef readonly str client_id
    cdef readonly list topics

    def answer(self, list results):
        """The frame that says where everything was stored; `results` are the log's, in the order of the batches."""
        cdef Py_ssize_t room = 64, size, nth = 0
        cdef tuple topic
        cdef list indexes
        cdef bint is_flexible = self.version >= FLEXIBLE_MIN_VERSION
        for topic in self.topics:
            room += 32 + len(topic[0]) + 48 * len(<list> topic[1])
        cdef bytes frame = PyBytes_FromStringAndSize(NULL, room)
        cdef unsigned char *begin = <unsigned char *> PyBytes_AS_STRING(frame)
        cdef unsigned char *at = begin + 4
        at = put32(at, self.correlation_id)
        if is_flexible:
            at = put8(at, 0)
        at = put_count(at, len(self.topics), is_flexible)
        for topic in self.topics:
            at = put_name(at, topic[0], is_flexible)
            indexes = topic[1]
            at = put_count(at, len(indexes), is_flexible)
            for index in indexes:
                stored = results[nth]
                nth += 1
                at = put32(at, index)
                at = put16(at, 0)
                at = put64(at, stored[0])
                at = put64(at, -1)
                if self.version >= STARTS_MIN_VERSION:
                    at = put64(at, stored[3])
                if self.version >= ERRORS_MIN_VERSION:
                    at = put_count(at, 0, is_flexible)
                    at = put8(at, 0) if is_flexible else put16(at, -1)
                if is_flexible:
                    at = put8(at, 0)
            if is_flexible:
                at = put8(at, 0)
        at = put32(at, 0)
        if is_flexible:
            at = put8(at, 0)
        size = at - begin
        if size > room:
            raise RuntimeError("an answer is longer than was thought")
        put32(begin, <int32_t> (size - 4))
        return frame[:size]


def read_produce(bytes frame not None):
    """The request of a whole frame, without its size; None where it is not plain."""
    cdef Reader reader = Reader.__new__(Reader)
    reader.whole, reader.data, reader.at = frame, frame, 0
    try:
        return reader.request()
    except IndexError:  # it ends before it should
        return None


cdef class Reader:
    """Looks through a frame from front to back. What a method does not understand it answers with None or -1."""

    cdef bytes whole
    cdef const unsigned char[::1] data
    cdef Py_ssize_t at
    cdef bint is_flexible

    cdef uint64_t number(self, int size) except? 0:
        """The next bytes as a number; IndexError where there are not so many."""
        cdef uint64_t value = 0
        cdef int nth
        for nth in range(size):
            value = value << 8 | self.data[self.at + nth]
        self.at += size
        return value

    cdef int64_t int16(self) except? -9:
        return <int16_t> self.number(2)

    cdef int64_t int32(self) except? -9:
        return <int32_t> self.number(4)

    cdef int64_t int64(self) except? -9:
        return <int64_t> self.number(8)

    cdef int64_t varint(self) except? -9:
        """A length of a flexible version, which is one more than it says; -1 for null, -2 for what is too long."""
        cdef uint64_t value = 0
        cdef int shift = 0
        cdef unsigned char byte
        while shift <= 28:
            byte = self.data[self.at]
            self.at += 1
            value |= <uint64_t> (byte & 127) << shift
            if byte < 128:
                return <int64_t> value - 1 if value < (1 << 31) else -2
            shift += 7
        return -2

    cdef int64_t count(self) except? -9:
        """How many elements an array has; -1 for more or fewer than are plain."""
        cdef int64_t count = self.varint() if self.is_flexible else self.int32()
        return count if 0 <= count <= ARRAY_MAX else -1

    cdef str text(self, int64_t size):
        """So many letters; None where they are not all ASCII."""
        cdef Py_ssize_t nth
        cdef bytes letters
        if size < 0 or size > len(self.data) - self.at:
            raise IndexError
        for nth in range(self.at, self.at + size):
            if self.data[nth] >= 128:
                return None
        letters = self.whole[self.at : self.at + size]
        self.at += size
        return letters.decode("ascii")

    cdef bint untagged(self) except -1:
        """Whether there are no tagged fields here, as nobody sends any with this."""
        if self.is_flexible:
            self.at += 1
            return self.data[self.at - 1] == 0
        return True

    cdef Produce request(self):
        cdef Produce found = Produce.__new__(Produce)
        cdef int64_t size, acks, count
        if self.int16() != 0:
            return None
        found.version = self.int16()
        if not BATCHES_MIN_VERSION <= found.version <= VERSION_MAX:
            return None
        self.is_flexible = found.version >= FLEXIBLE_MIN_VERSION
        found.correlation_id = self.int32()
        size = self.int16()
        found.client_id = "" if size < 0 else self.text(size)
        if found.client_id is None or not self.untagged():
            return None
        if (self.varint() if self.is_flexible else self.int16()) != -1:
            return None
        acks = self.int16()
        self.int32()
        count = self.count()
        if acks not in (-1, 1) or count < 1:
            return None
        found.topics = []
        for _ in range(count):
            topic = self.topic(found.version)
            if topic is None:
                return None
            found.topics.append(topic)
        return found if self.untagged() and self.at == len(self.data) else None

    cdef tuple topic(self, int version):
        cdef list indexes = [], batches = []
        cdef int64_t count
        cdef object name
        if version >= IDS_MIN_VERSION:
            name = self.whole[self.at : self.at + ID_BYTES]
            self.at += ID_BYTES
        else:
            name = self.text(self.varint() if self.is_flexible else self.int16())
        count = self.count()
        if name is None or count < 1:
            return None
        for _ in range(count):
            indexes.append(self.int32())
            batch = self.batch(self.varint() if self.is_flexible else self.int32(), version)
            if batch is None or not self.untagged():
                return None
            batches.append(batch)
        return (name, indexes, batches) if self.untagged() else None

    cdef object batch(self, int64_t size, int version):
        """The one batch of a partition, checked."""
        cdef Py_ssize_t begin = self.at
        cdef int64_t base_offset, length, epoch, crc, attributes, delta, first_ms, latest_ms, producer, producer_epoch
        cdef int64_t sequence, records
        cdef object content
        if size < HEADER or size > len(self.data) - begin:
            return None
        base_offset, length, epoch = self.int64(), self.int32(), self.int32()
        if length + OVERHEAD != size or self.data[self.at] != MAGIC:
            return None
        self.at += 1
        crc = self.number(4)
        attributes, delta = self.int16(), self.int32()
        first_ms, latest_ms = self.int64(), self.int64()
        producer, producer_epoch, sequence, records = self.int64(), self.int16(), self.int32(), self.int32()
        if attributes & UNUSUAL_BITS or records < 1 or delta != records - 1 or (producer >= 0 and sequence < 0):
            return None
        if attributes & CODECS > (ZSTD if version >= ZSTD_MIN_VERSION else ZSTD - 1):
            return None
        self.at = begin + size
        if extended(0, &self.data[begin + CHECKED_AT], size - CHECKED_AT) != crc:
            return None
        if size >= VIEW_BYTES_MIN and 2 * size >= len(self.data):
            content = memoryview(self.whole)[begin : self.at]
        else:
            content = self.whole[begin : self.at]
        return new_tuple(
            Batch,
            (
                base_offset, length, epoch, MAGIC, crc, attributes, delta, first_ms, latest_ms,
                producer, producer_epoch, sequence, records, content,
            ),
        )


cdef inline unsigned char *put8(unsigned char *at, int value) noexcept:
    at[0] = <unsigned char> value
    return at + 1


cdef inline unsigned char *put16(unsigned char *at, int value) noexcept:
    at[0], at[1] = <unsigned char> (value >> 8), <unsigned char> value
    return at + 2


cdef inline unsigned char *put32(unsigned char *at, int64_t value) noexcept:
    return put16(put16(at, <int> (value >> 16)), <int> value)


cdef inline unsigned char *put64(unsigned char *at, int64_t value) noexcept:
    return put32(put32(at, value >> 32), value)


cdef inline unsigned char *put_count(unsigned char *at, Py_ssize_t count, bint is_flexible) noexcept:
    return put_varint(at, count + 1) if is_flexible else put32(at, count)


cdef inline unsigned char *put_varint(unsigned char *at, Py_ssize_t value) noexcept:
    while value > 127:
        at = put8(at, value & 127 | 128)
        value >>= 7
    return put8(at, <int> value)


cdef unsigned char *put_name(unsigned char *at, object name, bint is_flexible) except NULL:
    """A topic's name, or its id, which has no length in front."""
    cdef bytes letters
    if isinstance(name, str):
        letters = (<str> name).encode("ascii")
        at = put_varint(at, len(letters) + 1) if is_flexible else put16(at, <int> len(letters))
    else:
        letters = name
    memcpy(at, PyBytes_AS_STRING(letters), len(letters))
    return at + len(letters)
