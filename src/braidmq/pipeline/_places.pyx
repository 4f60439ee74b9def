"""Where the fields of records lie, found in one pass. Hot path: runs for every message that Spark reads.

The same as `_fields.py` finds of the same records; what is broken is left to that, which says what is wrong with it.
"""

from libc.stdint cimport int64_t, uint8_t

from braidmq.records._varints cimport read_varint

cdef enum:  # the order of Fields
    TIME
    OFFSET
    KEY_START
    KEY_SIZE
    VALUE_START
    VALUE_SIZE
    HEADER_COUNT
    HEADERS_AT
    END
    FIELDS

cdef enum:  # the order of HeaderFields
    ROW
    NAME_START
    NAME_SIZE
    START
    SIZE
    HEADER_FIELDS


def find_fields(
    const uint8_t[::1] buffer, const int64_t[:, ::1] spans, const int64_t[::1] counts, int64_t[:, ::1] found
):
    """Of the records in these spans of the buffer (from, to), so many in each: into `found`, a row for each of Fields.

    How many headers they have together; -1 where they cannot be read so.
    """
    cdef Py_ssize_t size = buffer.shape[0], room = found.shape[1], first = 0, batch, at, end, nth
    cdef int64_t headers = 0, length = 0
    cdef int64_t *into
    if found.shape[0] != FIELDS or not size or not room:
        return -1
    for batch in range(counts.shape[0]):
        at, end = spans[batch, 0], spans[batch, 1]
        if not (0 <= at <= end <= size and 0 <= counts[batch] <= room - first):
            return -1
        for nth in range(first, first + counts[batch]):
            if not read_varint(&buffer[0], end, &at, &length) or not 1 <= length <= end - at:
                return -1
            into = &found[0, nth]
            if not take_fields(&buffer[0], at, at + length, into, room):
                return -1
            headers += into[HEADER_COUNT * room]
            at += length
        if at != end:
            return -1
        first += counts[batch]
    return headers if first == room else -1


def find_headers(
    const uint8_t[::1] buffer,
    const int64_t[::1] counts,
    const int64_t[::1] places,
    const int64_t[::1] ends,
    int64_t[:, ::1] found,
):
    """Of records with so many headers, from these places to these ends: into `found`, a row for each of HeaderFields.

    False where they cannot be read so.
    """
    cdef Py_ssize_t size = buffer.shape[0], room = found.shape[1], first = 0, row, at, nth
    if found.shape[0] != HEADER_FIELDS or not size:
        return False
    for row in range(counts.shape[0]):
        at = places[row]
        if not (0 <= at <= ends[row] <= size and 0 <= counts[row] <= room - first):
            return False
        for nth in range(first, first + counts[row]):
            found[ROW, nth] = row
            if not take_header(&buffer[0], ends[row], &at, &found[0, nth], room):
                return False
        if at != ends[row]:
            return False
        first += counts[row]
    return first == room


cdef inline bint take_fields(
    const uint8_t *data, Py_ssize_t at, Py_ssize_t end, int64_t *into, Py_ssize_t room
) noexcept nogil:
    """Of one record, its headers apart: each field is `room` behind the one before. False for what is no record."""
    cdef int64_t headers = 0
    at += 1  # attributes, which nobody uses
    if not (
        read_varint(data, end, &at, &into[TIME * room])
        and read_varint(data, end, &at, &into[OFFSET * room])
        and take_span(data, end, &at, &into[KEY_START * room], &into[KEY_SIZE * room])
        and take_span(data, end, &at, &into[VALUE_START * room], &into[VALUE_SIZE * room])
        and read_varint(data, end, &at, &headers)
    ):
        return False
    into[HEADER_COUNT * room], into[HEADERS_AT * room], into[END * room] = headers, at, end
    return 0 < headers <= end - at if headers else at == end


cdef inline bint take_header(
    const uint8_t *data, Py_ssize_t end, Py_ssize_t *at, int64_t *into, Py_ssize_t room
) noexcept nogil:
    """False for what is no header."""
    return (
        take_span(data, end, at, &into[NAME_START * room], &into[NAME_SIZE * room])
        and into[NAME_SIZE * room] >= 0
        and take_span(data, end, at, &into[START * room], &into[SIZE * room])
    )


cdef inline bint take_span(
    const uint8_t *data, Py_ssize_t end, Py_ssize_t *at, int64_t *start, int64_t *size
) noexcept nogil:
    """Bytes behind their size, which is -1 for a null. False where they go beyond the end."""
    if not read_varint(data, end, at, size) or not -1 <= size[0] <= end - at[0]:
        return False
    start[0] = at[0]
    at[0] += max(size[0], 0)
    return True
