"""A batch of records that are encoded already, but for their places in it. Hot path.

The same bytes as `build_batch` makes of the same records.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset

from braidmq.records._varints cimport varint_bytes, write_varint

cdef enum:
    HEADER_BYTES = 61
    OVERHEAD_BYTES = 12
    LENGTH_AT = 8
    EPOCH_AT = 12
    MAGIC_AT = 16
    CHECKSUM_AT = 17
    LAST_DELTA_AT = 23
    BASE_TIME_AT = 27
    MAX_TIME_AT = 35
    PRODUCER_AT = 43
    COUNT_AT = 57
    MAGIC = 2


cdef int64_t TIME_MAX = 1 << 61


def pack(list contents, list times, checksum_of):
    """The batch of the records, which are given by what follows their places (key, value and headers) and their times.

    `checksum_of` makes the checksum of a whole batch. Raises ValueError for records that are none, too large together,
    or of a time that is not within reach of the others.
    """
    cdef Py_ssize_t count = len(contents), number, size = HEADER_BYTES
    cdef int64_t first_time, last_time, time
    cdef unsigned char *begin
    cdef unsigned char *at
    cdef bytes content, batch
    if not count or len(times) != count:
        raise ValueError("a batch has a record, and each record a time")
    first_time = last_time = times[0]
    for number in range(count):
        content, time = contents[number], times[number]
        if not -TIME_MAX <= time <= TIME_MAX:
            raise ValueError(f"the time {time} is out of reach")
        last_time = max(last_time, time)
        size += varint_bytes(record_bytes(content, time - first_time, number)) + record_bytes(
            content, time - first_time, number
        )
    if size > 0x7FFFFFFF:
        raise ValueError(f"{size} bytes are too many for a batch")
    batch = PyBytes_FromStringAndSize(NULL, size)
    begin = at = <unsigned char *> PyBytes_AS_STRING(batch)
    memset(at, 0, HEADER_BYTES)
    write32(at + LENGTH_AT, <uint32_t> (size - OVERHEAD_BYTES))
    write32(at + EPOCH_AT, <uint32_t> -1)
    at[MAGIC_AT] = MAGIC
    write32(at + LAST_DELTA_AT, <uint32_t> (count - 1))
    write64(at + BASE_TIME_AT, first_time)
    write64(at + MAX_TIME_AT, last_time)
    memset(at + PRODUCER_AT, 0xFF, COUNT_AT - PRODUCER_AT)  # no producer, epoch and sequence: all of them -1
    write32(at + COUNT_AT, <uint32_t> count)
    at += HEADER_BYTES
    for number in range(count):
        content, time = contents[number], times[number]
        at = write_varint(at, record_bytes(content, time - first_time, number))
        at[0] = 0
        at = write_varint(at + 1, time - first_time)
        at = write_varint(at, number)
        memcpy(at, PyBytes_AS_STRING(content), PyBytes_GET_SIZE(content))
        at += PyBytes_GET_SIZE(content)
    write32(begin + CHECKSUM_AT, <uint32_t> checksum_of(batch))
    return batch


cdef inline Py_ssize_t record_bytes(bytes content, int64_t time_delta, Py_ssize_t place):
    return 1 + varint_bytes(time_delta) + varint_bytes(place) + PyBytes_GET_SIZE(content)


cdef inline void write32(unsigned char *at, uint32_t value) noexcept nogil:
    at[0], at[1], at[2], at[3] = value >> 24, value >> 16 & 0xFF, value >> 8 & 0xFF, value & 0xFF


cdef inline void write64(unsigned char *at, int64_t value) noexcept nogil:
    write32(at, <uint32_t> (value >> 32))
    write32(at + 4, <uint32_t> value)
