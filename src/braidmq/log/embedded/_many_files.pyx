"""Many files written or synced in one call that does not hold the interpreter's lock. Hot path.

A thread that flushes a thousand files must ask for the lock after each `os.pwritev`, and waits for it longer than for
the disk. Here it asks once for all of them. Nothing is decided here: what is written where and in which order is the
caller's business, and the first call that fails is the last.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EINTR, EIO, errno
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from posix.types cimport off_t

cdef extern from "sys/uio.h" nogil:
    struct iovec:
        void *iov_base
        size_t iov_len
    ssize_t pwritev(int descriptor, const iovec *pieces, int count, off_t position)

cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <stdint.h>
    #include <unistd.h>

    /* Let the disk begin with a part of a file, or wait for it; an error number, or 0. What the disk could not write is
       told here and not once more by sync_data. That the system cannot do it this way is no error: sync_data can. */
    #ifdef SYNC_FILE_RANGE_WRITE
    static int handle_range(int descriptor, off_t begin, off_t size, unsigned int what) {
        if (sync_file_range(descriptor, begin, size, what) == 0)
            return 0;
        return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == ESPIPE ? 0 : errno;
    }
    static int begin_range(int descriptor, off_t begin, off_t size) {
        return handle_range(descriptor, begin, size, SYNC_FILE_RANGE_WRITE);
    }
    static int await_range(int descriptor, off_t begin, off_t size) {
        return handle_range(descriptor, begin, size, SYNC_FILE_RANGE_WAIT_BEFORE);
    }
    #else
    static int begin_range(int descriptor, off_t begin, off_t size) { return 0; }
    static int await_range(int descriptor, off_t begin, off_t size) { return 0; }
    #endif

    /* What a batch begins with, as it is stored: numbers with their largest byte first. */
    typedef struct { unsigned char bytes[16]; } Prefix;

    static void put_number(unsigned char *at, uint64_t number, int size) {
        for (int byte = size - 1; byte >= 0; byte--, number >>= 8)
            at[byte] = (unsigned char)number;
    }

    static void fill_prefix(Prefix *prefix, int64_t base_offset, int64_t size_bytes, int32_t leader_epoch) {
        put_number(prefix->bytes, (uint64_t)base_offset, 8);
        put_number(prefix->bytes + 8, (uint64_t)(size_bytes - 12), 4);  /* without the offset and itself */
        put_number(prefix->bytes + 12, (uint64_t)leader_epoch, 4);
    }

    static int sync_data(int descriptor) {
    #ifdef F_FULLFSYNC
        return fcntl(descriptor, F_FULLFSYNC); /* fsync leaves the data in the drive's own cache there */
    #else
        return fdatasync(descriptor);
    #endif
    }
    """
    int begin_range(int descriptor, off_t begin, off_t size) nogil
    int await_range(int descriptor, off_t begin, off_t size) nogil
    int sync_data(int descriptor) nogil
    ctypedef struct Prefix:
        pass
    void fill_prefix(Prefix *prefix, int64_t base_offset, int64_t size_bytes, int32_t leader_epoch) nogil

cdef enum:
    PIECES_MAX = 1024  # IOV_MAX, on Linux and macOS


cdef struct Write:
    int descriptor
    off_t position
    Py_ssize_t first  # its pieces are from this one on, up to the next write's


cdef struct Stretch:
    int descriptor
    off_t begin
    off_t end


def write_all(list writes, int leader_epoch):
    """Write each of (descriptor, batches, position), one after the other, each batch with its offset in front.

    How many were written whole, and the error number of the one behind them: 0 where there is none.
    """
    cdef Py_ssize_t count = len(writes), batches = 0, taken = 0, number = 0, done = 0
    cdef int error = 0
    cdef Py_buffer *views = NULL
    cdef Prefix *prefixes = NULL
    cdef iovec *vectors = NULL
    cdef Write *planned = NULL
    for _, several, _ in writes:
        batches += len(several)
    try:
        views = <Py_buffer *> malloc(max(batches, 1) * sizeof(Py_buffer))
        prefixes = <Prefix *> malloc(max(batches, 1) * sizeof(Prefix))
        vectors = <iovec *> malloc(max(2 * batches, 1) * sizeof(iovec))
        planned = <Write *> malloc((count + 1) * sizeof(Write))
        if views == NULL or prefixes == NULL or vectors == NULL or planned == NULL:
            raise MemoryError
        for descriptor, several, position in writes:
            planned[number].descriptor = descriptor
            planned[number].position = position
            planned[number].first = 2 * taken
            for base_offset, data, _ in several:
                if taken == batches:
                    raise RuntimeError("the batches of a write changed while it was begun")
                PyObject_GetBuffer(data, &views[taken], PyBUF_SIMPLE)
                taken += 1
                if views[taken - 1].len < <Py_ssize_t> sizeof(Prefix):
                    raise ValueError("what is shorter than its offset is no batch")
                fill_prefix(&prefixes[taken - 1], base_offset, views[taken - 1].len, leader_epoch)
                vectors[2 * taken - 2].iov_base = &prefixes[taken - 1]
                vectors[2 * taken - 2].iov_len = sizeof(Prefix)
                vectors[2 * taken - 1].iov_base = <char *> views[taken - 1].buf + sizeof(Prefix)
                vectors[2 * taken - 1].iov_len = views[taken - 1].len - sizeof(Prefix)
            number += 1
        planned[number].first = 2 * taken
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
        free(prefixes)
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


cdef struct Place:
    Py_ssize_t number  # of the file
    off_t at


cdef off_t next_step(Stretch *files, Py_ssize_t count, Place *place, off_t step_bytes) noexcept nogil:
    """Go to what is to be written next; how much it is, or 0 behind the last."""
    while place.number < count and place.at >= files[place.number].end:
        place.number += 1
        if place.number < count:
            place.at = files[place.number].begin
    return min(step_bytes, files[place.number].end - place.at) if place.number < count else 0


cdef int write_out(Stretch *files, Py_ssize_t count, off_t step_bytes, off_t ahead_bytes) noexcept nogil:
    """Bring the stretches to the disk, which is given a little more than it has done; an error number, or 0."""
    cdef Place begun, waited
    cdef off_t size, under_way = 0
    cdef int error = 0
    if not count:
        return 0
    begun.number = waited.number = 0
    begun.at = waited.at = files[0].begin
    while not error:
        size = next_step(files, count, &begun, step_bytes)
        if size and under_way + size <= ahead_bytes:
            error = begin_range(files[begun.number].descriptor, begun.at, size)
            begun.at += size
            under_way += size
        elif under_way:
            size = next_step(files, count, &waited, step_bytes)
            error = await_range(files[waited.number].descriptor, waited.at, size)
            waited.at += size
            under_way -= size
        else:
            break
    return error


def write_out_all(list written, off_t step_bytes, off_t ahead_bytes):
    """Bring each of (descriptor, begin, end) to the disk, step by step; an error number, or 0."""
    cdef Py_ssize_t count = len(written), number = 0
    cdef int error
    cdef Stretch *files = <Stretch *> malloc(max(count, 1) * sizeof(Stretch))
    if files == NULL:
        raise MemoryError
    try:
        for descriptor, begin, end in written:
            files[number].descriptor = descriptor
            files[number].begin = begin
            files[number].end = end
            number += 1
        with nogil:
            error = write_out(files, count, step_bytes, ahead_bytes)
    finally:
        free(files)
    return error


def sync_all(list descriptors):
    """Sync each of the files.

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
            while done < count:
                if sync_data(files[done]) == 0:
                    done += 1
                elif errno != EINTR:
                    error = errno
                    break
    finally:
        free(files)
    return done, error
