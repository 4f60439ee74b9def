"""Room for a frame that has not arrived whole: the socket's bytes are read to where they stay. Hot path.

One idea: bytes that nobody has seen yet may still be written. They are filled through the buffer that this lends, from
front to back, and handed out once, when they are whole.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.string cimport memcpy


cdef class Room:
    """Lends what is still to be filled, as a writable buffer."""

    cdef bytes _frame
    cdef Py_ssize_t _size
    cdef Py_ssize_t _filled

    def __cinit__(self, Py_ssize_t size, bytes beginning not None):
        self._filled = PyBytes_GET_SIZE(beginning)
        if self._filled >= size:
            raise ValueError("a frame that has arrived needs no room")
        self._size = size
        self._frame = PyBytes_FromStringAndSize(NULL, size)
        memcpy(PyBytes_AS_STRING(self._frame), PyBytes_AS_STRING(beginning), self._filled)

    def __len__(self):
        """How much is still to come."""
        return self._size - self._filled

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        if self._filled == self._size:
            raise BufferError("the frame is whole")
        PyBuffer_FillInfo(
            buffer, self, PyBytes_AS_STRING(self._frame) + self._filled, self._size - self._filled, 0, flags
        )

    def fill(self, Py_ssize_t size):
        """So much was written to the buffer; the frame, if it is whole now."""
        if not 0 <= size <= self._size - self._filled:
            raise ValueError("more than there was room for")
        self._filled += size
        return self._frame if self._filled == self._size else None
