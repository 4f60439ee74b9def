"""Numbers as records have them: zigzag, seven bits in a byte. For modules that are compiled."""

from libc.stdint cimport int64_t, uint64_t


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t> value << 1) ^ (<uint64_t> -1 if value < 0 else 0)


cdef inline Py_ssize_t varint_bytes(int64_t value) noexcept nogil:
    cdef uint64_t left = zigzag(value)
    cdef Py_ssize_t size = 1
    while left >= 0x80:
        left >>= 7
        size += 1
    return size


cdef inline unsigned char *write_varint(unsigned char *at, int64_t value) noexcept nogil:
    """Where the number ends."""
    cdef uint64_t left = zigzag(value)
    while left >= 0x80:
        at[0] = <unsigned char> (left & 0x7F | 0x80)
        left >>= 7
        at += 1
    at[0] = <unsigned char> left
    return at + 1


cdef inline bint read_varint(const unsigned char *data, Py_ssize_t end, Py_ssize_t *at, int64_t *value) noexcept nogil:
    """False where there is no number before the end."""
    cdef uint64_t found = 0
    cdef int shift = 0
    while at[0] < end and shift < 64:
        found |= <uint64_t> (data[at[0]] & 0x7F) << shift
        at[0] += 1
        if data[at[0] - 1] < 0x80:
            value[0] = <int64_t> (found >> 1) ^ -<int64_t> (found & 1)
            return True
        shift += 7
    return False
