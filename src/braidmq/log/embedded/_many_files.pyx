"""Many files written or synced in one call that does not hold the interpreter's lock. Hot path.

A thread that flushes a thousand files must ask for the lock after each `os.pwritev`, and waits for it longer than for
the disk. Here it asks once for all of them. Nothing is decided here: what is written where and in which order is the
caller's business, and the first call that fails is the last.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EINTR, EIO, errno
from libc.stdlib cimport free, malloc
from posix.types cimport off_t

cdef extern from "sys/uio.h" nogil:
    struct iovec:
        void *iov_base
        size_t iov_len
    ssize_t pwritev(int descriptor, const iovec *pieces, int count, off_t position)

cdef extern from *:
    """
    #include <fcntl.h>
    #include <unistd.h>

    /* Let the disk begin with what was written. It says nothing, not even of errors: sync_data does. */
    static void begin_sync(int descriptor) {
    #ifdef SYNC_FILE_RANGE_WRITE
        (void)sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
    #endif
    }

    static int sync_data(int descriptor) {
    #ifdef F_FULLFSYNC
        return fcntl(descriptor, F_FULLFSYNC); /* fsync leaves the data in the drive's own cache there */
    #else
        return fdatasync(descriptor);
    #endif
    }
    """
    void begin_sync(int descriptor) nogil
    int sync_data(int descriptor) nogil

cdef enum:
    PIECES_MAX = 1024  # IOV_MAX, on Linux and macOS


cdef struct Write:
    int descriptor
    off_t position
    Py_ssize_t first  # its pieces are from this one on, up to the next write's


def write_all(list writes):
    """Write each of (descriptor, pieces, position), one after the other.

    How many were written whole, and the error number of the one behind them: 0 where there is none.
    """
    cdef Py_ssize_t count = len(writes), pieces = 0, taken = 0, number = 0, done = 0
    cdef int error = 0
    cdef Py_buffer *views = NULL
    cdef iovec *vectors = NULL
    cdef Write *planned = NULL
    for _, parts, _ in writes:
        pieces += len(parts)
    try:
        views = <Py_buffer *> malloc(max(pieces, 1) * sizeof(Py_buffer))
        vectors = <iovec *> malloc(max(pieces, 1) * sizeof(iovec))
        planned = <Write *> malloc((count + 1) * sizeof(Write))
        if views == NULL or vectors == NULL or planned == NULL:
            raise MemoryError
        for descriptor, parts, position in writes:
            planned[number].descriptor = descriptor
            planned[number].position = position
            planned[number].first = taken
            for part in parts:
                if taken == pieces:
                    raise RuntimeError("the pieces of a write changed while it was begun")
                PyObject_GetBuffer(part, &views[taken], PyBUF_SIMPLE)
                vectors[taken].iov_base = views[taken].buf
                vectors[taken].iov_len = views[taken].len
                taken += 1
            number += 1
        planned[number].first = taken
        with nogil:
            while done < count:
                error = write_one(
                    planned[done].descriptor,
                    &vectors[planned[done].first],
                    planned[done + 1].first - planned[done].first,
                    planned[done].position,
                )
                if error:
                    break
                done += 1
    finally:
        for number in range(taken):
            PyBuffer_Release(&views[number])
        free(views)
        free(vectors)
        free(planned)
    return done, error


cdef int write_one(int descriptor, iovec *pieces, Py_ssize_t count, off_t position) noexcept nogil:
    """All of the pieces, also where the system takes them in several steps; an error number, or 0."""
    cdef ssize_t written
    while True:
        while count and pieces.iov_len == 0:
            pieces += 1
            count -= 1
        if not count:
            return 0
        written = pwritev(descriptor, pieces, <int> min(count, PIECES_MAX), position)
        if written < 0:
            if errno == EINTR:
                continue
            return errno
        if written == 0:
            return EIO  # took no bytes and gave no reason
        position += written
        while written and <size_t> written >= pieces.iov_len:
            written -= pieces.iov_len
            pieces += 1
            count -= 1
        if written:
            pieces.iov_base = <char *> pieces.iov_base + written
            pieces.iov_len -= written


def sync_all(list descriptors):
    """Sync each of the files; the disk has all of them before it is waited for the first.

    How many were synced, and the error number of the one behind them: 0 where there is none.
    """
    cdef Py_ssize_t count = len(descriptors), number, done = 0
    cdef int error = 0
    cdef int *files = <int *> malloc(max(count, 1) * sizeof(int))
    if files == NULL:
        raise MemoryError
    try:
        for number in range(count):
            files[number] = descriptors[number]
        with nogil:
            for number in range(count):
                begin_sync(files[number])
            while done < count:
                if sync_data(files[done]) == 0:
                    done += 1
                elif errno != EINTR:
                    error = errno
                    break
    finally:
        free(files)
    return done, error
