"""CRC-32C of any buffer, where it lies. Hot path: once for every byte that comes, and once more for the journal.

The library that is used without this takes nothing but bytes, so that a batch inside a frame must be copied to be
checked. The processor's own instruction takes eight bytes at a time, but has its result only two steps later: so three
stretches are worked on at once, and then put together. What a stretch of so many zero bytes would make of a checksum is
a linear map, kept as a table.
"""

from libc.stdint cimport uint32_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>

    #define STRETCH 1024

    static uint32_t shifted[4][256];

    #if defined(__x86_64__) && defined(__GNUC__)

    static int has_instruction(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("sse4.2");
    }

    __attribute__((target("sse4.2")))
    static uint32_t one_stretch(uint32_t crc, const unsigned char *data, size_t size) {
        uint64_t value = crc, word;
        for (; size >= 8; data += 8, size -= 8) {
            memcpy(&word, data, 8);
            value = __builtin_ia32_crc32di(value, word);
        }
        for (; size; data++, size--) value = __builtin_ia32_crc32qi((uint32_t) value, *data);
        return (uint32_t) value;
    }

    static uint32_t behind_stretch(uint32_t crc) {
        return shifted[0][crc & 255] ^ shifted[1][crc >> 8 & 255] ^ shifted[2][crc >> 16 & 255] ^ shifted[3][crc >> 24];
    }

    __attribute__((target("sse4.2")))
    static uint32_t all_stretches(uint32_t crc, const unsigned char *data, size_t size) {
        uint64_t first, second, third, word;
        for (; size >= 3 * STRETCH; data += 3 * STRETCH, size -= 3 * STRETCH) {
            first = crc, second = 0, third = 0;
            for (size_t at = 0; at < STRETCH; at += 8) {
                memcpy(&word, data + at, 8);
                first = __builtin_ia32_crc32di(first, word);
                memcpy(&word, data + STRETCH + at, 8);
                second = __builtin_ia32_crc32di(second, word);
                memcpy(&word, data + 2 * STRETCH + at, 8);
                third = __builtin_ia32_crc32di(third, word);
            }
            crc = behind_stretch(behind_stretch((uint32_t) first) ^ (uint32_t) second) ^ (uint32_t) third;
        }
        return one_stretch(crc, data, size);
    }

    static void make_table(void) {
        static const unsigned char zeroes[STRETCH];
        for (int byte = 0; byte < 4; byte++)
            for (uint32_t value = 0; value < 256; value++)
                shifted[byte][value] = one_stretch(value << 8 * byte, zeroes, STRETCH);
    }

    #else

    static int has_instruction(void) { return 0; }
    static uint32_t all_stretches(uint32_t crc, const unsigned char *data, size_t size) { return crc; }
    static void make_table(void) { }

    #endif
    """
    bint has_instruction() nogil
    uint32_t all_stretches(uint32_t crc, const unsigned char *data, size_t size) nogil
    void make_table() nogil

if not has_instruction():
    raise ImportError("the processor has no instruction for CRC-32C that is used here")
make_table()


cdef uint32_t extended(uint32_t before, const unsigned char *data, Py_ssize_t size) noexcept nogil:
    """CRC-32C of what came before and the bytes."""
    return ~all_stretches(~before, data, size)


def extend(uint32_t before, const unsigned char[::1] data not None):
    """CRC-32C of what came before and the bytes, whatever holds them."""
    if data.shape[0] == 0:
        return before
    return extended(before, &data[0], data.shape[0])
