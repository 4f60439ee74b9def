"""Many files in one call: compiled or not, the same bytes end up in the same places, and the same errors are told."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from braidmq.log.embedded._disk import RealDisk, RealFile, Write, Written, write_one_by_one
from braidmq.log.embedded._tail import LEADER_EPOCH, TailBatch, tail_buffers

NAME = "braidmq.log.embedded._many_files"
RequireCompiled = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def compiled(require_compiled: RequireCompiled) -> ModuleType:
    return require_compiled(NAME)


@pytest.fixture
def descriptors(tmp_path: Path) -> Iterator[list[int]]:
    with ExitStack() as opened:
        found = []
        for number in range(4):
            found.append(os.open(tmp_path / str(number), os.O_RDWR | os.O_CREAT))
            opened.callback(os.close, found[-1])
        yield found


def batch_of(data: bytes | memoryview, base_offset: int = 0) -> TailBatch:
    return TailBatch(base_offset, data, len(data))


def stored(*batches: TailBatch) -> bytes:
    return b"".join(tail_buffers(batches))


A_BATCH = batch_of(b"sixteen bytes or more", 7)
batches = st.builds(batch_of, st.binary(min_size=16, max_size=60), st.integers(0, 2**63 - 1))
writes = st.lists(st.tuples(st.integers(0, 3), st.lists(batches, max_size=6), st.integers(0, 200)), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes)
def test_what_is_written_is_what_single_writes_would_have_written(
    compiled: ModuleType, descriptors: list[int], planned: list[tuple[int, list[TailBatch], int]]
) -> None:
    contents = []
    for is_compiled in (True, False):
        for each in descriptors:
            os.ftruncate(each, 0)
        if is_compiled:
            found = compiled.write_all(
                [(descriptors[file], several, at) for file, several, at in planned], LEADER_EPOCH
            )
            assert found == (len(planned), 0)
        else:
            files = [RealFile(each) for each in descriptors]
            write_one_by_one([Write(files[file], several, at) for file, several, at in planned])
        contents.append([os.pread(each, 1000, 0) for each in descriptors])
    assert contents[0] == contents[1]


def test_more_batches_than_the_system_takes_at_once_are_all_written(
    compiled: ModuleType, descriptors: list[int]
) -> None:
    many = [batch_of(memoryview(b"%022d" % number)[1:], number) for number in range(3000)]
    assert compiled.write_all([(descriptors[0], many, 7)], LEADER_EPOCH) == (1, 0)
    assert os.pread(descriptors[0], 100_000, 7) == stored(*many)


def test_a_write_that_fails_ends_the_call_and_says_why(compiled: ModuleType, descriptors: list[int]) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        made = [(descriptors[0], [A_BATCH], 0), (full, [A_BATCH], 0), (descriptors[1], [A_BATCH], 0)]
        assert compiled.write_all(made, LEADER_EPOCH) == (1, errno.ENOSPC)
    finally:
        os.close(full)
    assert os.pread(descriptors[0], 100, 0) == stored(A_BATCH)
    assert os.pread(descriptors[1], 100, 0) == b""


@pytest.mark.parametrize(
    ("broken", "told"),
    [(TailBatch(0, cast("bytes", "text"), 4), TypeError), (batch_of(b"too short"), ValueError)],
)
def test_what_is_no_batch_keeps_anything_from_being_written(
    compiled: ModuleType, descriptors: list[int], broken: TailBatch, told: type[Exception]
) -> None:
    with pytest.raises(told):
        compiled.write_all([(descriptors[0], [A_BATCH], 0), (descriptors[1], [broken], 0)], LEADER_EPOCH)
    assert os.pread(descriptors[0], 100, 0) == b""


def test_syncing_stops_at_the_first_file_that_cannot_be_synced(compiled: ModuleType, descriptors: list[int]) -> None:
    assert compiled.sync_all(descriptors) == (4, 0)
    assert compiled.sync_all([]) == (0, 0)
    closed = os.dup(descriptors[0])
    os.close(closed)
    assert compiled.sync_all([descriptors[0], closed, descriptors[1]]) == (1, errno.EBADF)


def test_writing_out_goes_through_all_stretches_and_tells_of_the_one_that_failed(
    compiled: ModuleType, descriptors: list[int]
) -> None:
    for descriptor in descriptors:
        os.pwrite(descriptor, bytes(10_000), 0)
    stretches = [(descriptor, number * 1000, 10_000) for number, descriptor in enumerate(descriptors)]
    assert compiled.write_out_all(stretches, 4096, 10_000) == 0
    assert compiled.write_out_all([(descriptors[0], 500, 500), *stretches], 4096, 4096) == 0
    assert compiled.write_out_all([], 4096, 10_000) == 0
    closed = os.dup(descriptors[0])
    os.close(closed)
    assert compiled.write_out_all([*stretches, (closed, 0, 1), *stretches], 4096, 10_000) == errno.EBADF


def test_a_disk_tells_errors_of_many_writes_and_syncs_as_its_files_do(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    good, closed = disk.open("good", create=True), disk.open("closed", create=True)
    closed.close()
    done, error = disk.write_many([Write(good, [A_BATCH], 0), Write(closed, [A_BATCH], 0), Write(good, [A_BATCH], 99)])
    assert done == 1
    assert error is not None
    assert error.errno == errno.EBADF
    assert good.read(1000, 0) == stored(A_BATCH)
    with pytest.raises(OSError, match="Bad file descriptor"):
        disk.sync_many([good, closed])
    with pytest.raises(OSError, match="Bad file descriptor"):
        disk.write_out([Written(good, 0, 21), Written(closed, 0, 21)], 4096)
    good.close()
