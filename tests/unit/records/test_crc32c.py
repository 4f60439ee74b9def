"""CRC-32C as it is compiled says what the library says."""

import random
from types import ModuleType

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import RequireCompiled

STRETCHES = 3 * 1024
"""So many bytes are worked on at once."""


@pytest.fixture(scope="module")
def compiled(require_compiled: RequireCompiled) -> ModuleType:
    return require_compiled("braidmq.records._crc32c")


def test_the_well_known_value(compiled: ModuleType) -> None:
    assert compiled.extend(0, b"123456789") == 0xE3069283


@given(st.binary(max_size=300), st.integers(0, (1 << 32) - 1))
def test_short_buffers(compiled: ModuleType, data: bytes, before: int) -> None:
    assert compiled.extend(before, data) == google_crc32c.extend(before, data)


@pytest.mark.parametrize("around", [STRETCHES, 2 * STRETCHES, 1 << 16, 1 << 20])
def test_long_buffers_and_views_of_them_at_any_place(compiled: ModuleType, around: int) -> None:
    data = random.Random(around).randbytes(around + 16)
    for begin in range(9):
        for end in range(around - 9, around + 9):
            found = compiled.extend(begin, memoryview(data)[begin:end])
            assert found == google_crc32c.extend(begin, data[begin:end])


def test_what_is_no_bytes_is_refused(compiled: ModuleType) -> None:
    with pytest.raises(TypeError):
        compiled.extend(0, None)
    with pytest.raises(TypeError):
        compiled.extend(0, "text")
    with pytest.raises(BufferError, match="contiguous"):
        compiled.extend(0, memoryview(b"abcdef")[::2])
