"""The checksum of what lies behind a beginning is the checksum of just that."""

import google_crc32c
from hypothesis import given
from hypothesis import strategies as st

from braidmq.records._checksums import ChecksumBehind

BEHIND = {skipped: ChecksumBehind(skipped) for skipped in (0, 1, 4, 21, 61)}


@given(st.binary(max_size=5000), st.sampled_from(sorted(BEHIND)))
def test_first_bytes_do_not_count(data: bytes, skipped: int) -> None:
    whole = bytes(skipped) + data
    assert BEHIND[skipped](whole) == google_crc32c.value(data)


@given(st.binary(min_size=61, max_size=300), st.sampled_from(sorted(BEHIND)))
def test_whatever_they_are(data: bytes, skipped: int) -> None:
    assert BEHIND[skipped](data) == google_crc32c.value(data[skipped:])
