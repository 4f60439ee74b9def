"""CRC-32C for other compiled modules; see `_crc32c.pyx`."""

from libc.stdint cimport uint32_t

cdef uint32_t extended(uint32_t before, const unsigned char *data, Py_ssize_t size) noexcept nogil
