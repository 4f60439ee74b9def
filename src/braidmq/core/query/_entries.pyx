"""The index's entries of whole batches, without their records being made. Hot path of indexing.

The same as `OpenRange.add` makes of the same records; a batch that is packed or broken is left to that. The
interpreter's lock is not held meanwhile.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp

from braidmq.records._varints cimport read_varint

from braidmq.core.query._words import FINGERPRINT_BYTES, KEYS_MAX
from braidmq.model import ID_HEADER, KEYS_HEADER

cdef enum:
    ENTRY_BYTES = 12
    WORDS_MAX = 34  # of keys, the record's key, and the id
    LENGTH_AT = 8  # in a batch's header
    BEFORE_LENGTH_BYTES = 12
    MAGIC_AT = 16
    ATTRIBUTES_AT = 21
    LAST_DELTA_AT = 23
    BASE_TIME_AT = 27
    MAX_TIME_AT = 35
    COUNT_AT = 57
    BATCH_BYTES = 61
    CODEC_BITS = 0x07
    APPEND_TIME_BIT = 0x08
    CONTROL_BIT = 0x20

if FINGERPRINT_BYTES != 8 or KEYS_MAX != 32:
    raise ImportError("entries are written here as well, and must be changed in both places")

cdef bytes ID = ID_HEADER.encode()
cdef bytes KEYS = KEYS_HEADER.encode()
cdef const char *id_name = ID
cdef const char *keys_name = KEYS
cdef Py_ssize_t id_bytes = len(ID), keys_bytes = len(KEYS)

cdef uint32_t CASTAGNOLI[256]
cdef uint32_t ZLIB[256]


cdef struct Word:
    const uint8_t *data
    Py_ssize_t size


cdef struct Found:  # what one record is found by
    int64_t time_delta
    int64_t offset_delta
    Word words[WORDS_MAX]
    int count


cdef struct Entries:
    uint8_t *data
    Py_ssize_t used
    Py_ssize_t room
    int64_t earliest
    int64_t latest
    Py_ssize_t records


def entries_of(
    const uint8_t[::1] records,
    Py_ssize_t count,
    int64_t base_offset,
    int64_t base_time,
    int64_t append_time,
    int64_t first,
    int64_t begin,
    int64_t until,
):
    """Of the records of a batch, those from the offset `begin` up to `until`, their offsets counted from `first`.

    `append_time` counts in place of the records' own times, unless it is negative. The entries, the earliest and the
    latest time, and how many records there were; None where they cannot be read so.
    """
    cdef Entries made
    cdef Py_ssize_t size = records.shape[0]
    cdef bint is_whole = False
    made.data, made.used, made.room, made.records = NULL, 0, 0, 0
    made.earliest, made.latest = 0x7FFFFFFFFFFFFFFF, -1
    if not size:
        return None
    try:
        with nogil:
            is_whole = take_all(
                &records[0], size, count, base_offset, base_time, append_time, first, begin, until, &made
            )
        if not is_whole:
            return None
        return PyBytes_FromStringAndSize(<char *> made.data, made.used), made.earliest, made.latest, made.records
    finally:
        free(made.data)


def entries_of_stretch(
    const uint8_t[::1] data, int64_t first, int64_t begin, int64_t until, Py_ssize_t records_max, Py_ssize_t entries_max
):
    """The same of the batches that lie behind each other in `data`, up to the first that must be looked at by itself,
    as one with more than so many records must, and up to the one that brings them to so many entries.

    What `entries_of` returns, how many bytes the batches took, and the offset behind the last of them; None where the
    first batch is such a one already.
    """
    cdef Entries made
    cdef Py_ssize_t size = data.shape[0], at = 0, used
    cdef int64_t end = begin
    made.data, made.used, made.room, made.records = NULL, 0, 0, 0
    made.earliest, made.latest = 0x7FFFFFFFFFFFFFFF, -1
    if size < BATCH_BYTES:
        return None
    try:
        with nogil:
            while made.used < entries_max * ENTRY_BYTES or not at:
                used = take_batch(&data[0] + at, size - at, first, begin, until, records_max, &made, &end)
                if not used:
                    break
                at += used
                if at == size:
                    break
        if not at:
            return None
        entries = PyBytes_FromStringAndSize(<char *> made.data, made.used)
        return entries, made.earliest, made.latest, made.records, at, end
    finally:
        free(made.data)


cdef Py_ssize_t take_batch(
    const uint8_t *data,
    Py_ssize_t size,
    int64_t first,
    int64_t begin,
    int64_t until,
    Py_ssize_t records_max,
    Entries *made,
    int64_t *end,
) noexcept nogil:
    """How many bytes the batch has that lies here; 0, and nothing is made, where it must be looked at by itself."""
    cdef Entries before = made[0]
    cdef int64_t base_offset, append_time = -1
    cdef Py_ssize_t length, count
    cdef int attributes
    if size < BATCH_BYTES or data[MAGIC_AT] != 2:
        return 0
    length = <Py_ssize_t> <int32_t> read32(data + LENGTH_AT) + BEFORE_LENGTH_BYTES
    attributes = data[ATTRIBUTES_AT] << 8 | data[ATTRIBUTES_AT + 1]
    base_offset = read64(data)
    count = <int32_t> read32(data + COUNT_AT)
    if not (BATCH_BYTES < length <= size and 0 < count <= records_max and base_offset < until):
        return 0
    if attributes & (CODEC_BITS | CONTROL_BIT):
        return 0
    if attributes & APPEND_TIME_BIT:
        append_time = read64(data + MAX_TIME_AT)
        if append_time < 0:
            return 0
    if not take_all(
        data + BATCH_BYTES, length - BATCH_BYTES, count, base_offset, read64(data + BASE_TIME_AT), append_time,
        first, begin, until, made,
    ):
        before.data, before.room = made.data, made.room
        made[0] = before
        return 0
    end[0] = min(base_offset + <int32_t> read32(data + LAST_DELTA_AT) + 1, until)
    return length


cdef bint take_all(
    const uint8_t *data,
    Py_ssize_t size,
    Py_ssize_t count,
    int64_t base_offset,
    int64_t base_time,
    int64_t append_time,
    int64_t first,
    int64_t begin,
    int64_t until,
    Entries *made,
) noexcept nogil:
    cdef Found found
    cdef Py_ssize_t at = 0, nth
    cdef int64_t offset, time
    cdef int word
    for nth in range(count):
        if not read_record(data, size, &at, &found):
            return False
        offset = base_offset + found.offset_delta
        if not begin <= offset < until:
            continue
        time = append_time if append_time >= 0 else base_time + found.time_delta
        made.earliest, made.latest = min(made.earliest, time), max(made.latest, time)
        made.records += 1
        for word in range(found.count):
            if not add(made, &found.words[word], <uint32_t> (offset - first)):
                return False
    return at == size


cdef bint read_record(const uint8_t *data, Py_ssize_t size, Py_ssize_t *at, Found *found) noexcept nogil:
    """False for what is no record."""
    cdef int64_t length = 0, headers = 0
    cdef Py_ssize_t end
    cdef Word key, value, name, unique_id
    cdef int64_t nth
    unique_id.data = NULL
    found.count = 0
    if not read_varint(data, size, at, &length) or length < 1 or length > size - at[0]:
        return False
    end = at[0] + <Py_ssize_t> length
    at[0] += 1  # attributes, which nobody uses
    if not (
        read_varint(data, end, at, &found.time_delta)
        and read_varint(data, end, at, &found.offset_delta)
        and read_word(data, end, at, &key)
        and read_word(data, end, at, &value)
        and read_varint(data, end, at, &headers)
    ):
        return False
    for nth in range(headers):
        if not read_word(data, end, at, &name) or name.data == NULL or not read_word(data, end, at, &value):
            return False
        if name.size == id_bytes and memcmp(name.data, id_name, id_bytes) == 0:
            unique_id = value
        elif name.size == keys_bytes and memcmp(name.data, keys_name, keys_bytes) == 0:
            split(value, found)
    if key.data != NULL and not has(found, &key):
        found.words[found.count] = key
        found.count += 1
    if unique_id.data != NULL:
        found.words[found.count] = unique_id
        found.count += 1
    return at[0] == end


cdef inline bint read_word(const uint8_t *data, Py_ssize_t end, Py_ssize_t *at, Word *word) noexcept nogil:
    """Bytes behind their length; without data where they are null."""
    cdef int64_t size = 0
    if not read_varint(data, end, at, &size) or size < -1 or size > end - at[0]:
        return False
    word.data, word.size = NULL, 0
    if size >= 0:
        word.data, word.size = data + at[0], <Py_ssize_t> size
    at[0] += word.size
    return True


cdef void split(Word text, Found *found) noexcept nogil:
    """The words of the text, so many at most, in place of those that there were."""
    cdef Py_ssize_t at = 0, begin
    found.count = 0
    while found.count < WORDS_MAX - 2:
        while at < text.size and is_space(text.data[at]):
            at += 1
        if at >= text.size:
            return
        begin = at
        while at < text.size and not is_space(text.data[at]):
            at += 1
        found.words[found.count].data = text.data + begin
        found.words[found.count].size = at - begin
        found.count += 1


cdef inline bint is_space(uint8_t byte) noexcept nogil:
    """What `bytes.split` splits at."""
    return byte == 32 or 9 <= byte <= 13


cdef inline bint has(Found *found, Word *word) noexcept nogil:
    cdef int nth
    for nth in range(found.count):
        if found.words[nth].size == word.size and memcmp(found.words[nth].data, word.data, word.size) == 0:
            return True
    return False


cdef bint add(Entries *made, Word *word, uint32_t delta) noexcept nogil:
    """False where there is no memory for it."""
    cdef uint8_t *data
    if made.used + ENTRY_BYTES > made.room:
        made.room = max(1024, 2 * made.room)
        data = <uint8_t *> realloc(made.data, made.room)
        if data == NULL:
            return False
        made.data = data
    write32(made.data + made.used, checksum(CASTAGNOLI, word))
    write32(made.data + made.used + 4, checksum(ZLIB, word))
    write32(made.data + made.used + 8, delta)
    made.used += ENTRY_BYTES
    return True


cdef inline uint32_t checksum(const uint32_t *table, Word *word) noexcept nogil:
    cdef uint32_t value = ~<uint32_t> 0
    cdef Py_ssize_t at
    for at in range(word.size):
        value = table[(value ^ word.data[at]) & 0xFF] ^ value >> 8
    return ~value


cdef inline uint32_t read32(const uint8_t *at) noexcept nogil:
    return <uint32_t> at[0] << 24 | <uint32_t> at[1] << 16 | <uint32_t> at[2] << 8 | at[3]


cdef inline int64_t read64(const uint8_t *at) noexcept nogil:
    return <int64_t> (<uint64_t> read32(at) << 32 | read32(at + 4))


cdef inline void write32(uint8_t *at, uint32_t value) noexcept nogil:
    at[0] = <uint8_t> (value >> 24)
    at[1] = <uint8_t> (value >> 16)
    at[2] = <uint8_t> (value >> 8)
    at[3] = <uint8_t> value


cdef void fill(uint32_t *table, uint32_t polynomial) noexcept:
    """A checksum's table, for a byte at a time."""
    cdef uint32_t byte, value
    cdef int bit
    for byte in range(256):
        value = byte
        for bit in range(8):
            value = value >> 1 ^ polynomial if value & 1 else value >> 1
        table[byte] = value


fill(CASTAGNOLI, 0x82F63B78)
fill(ZLIB, 0xEDB88320)
