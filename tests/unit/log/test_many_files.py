"""Many files in one call: compiled or not, the same bytes end up in the same places, and the same errors are told."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from braidmq.log.embedded._disk import RealDisk, RealFile, Write, write_one_by_one

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


pieces = st.lists(st.binary(max_size=40), max_size=6)
writes = st.lists(st.tuples(st.integers(0, 3), pieces, st.integers(0, 200)), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes)
def test_what_is_written_is_what_single_writes_would_have_written(
    compiled: ModuleType, descriptors: list[int], planned: list[tuple[int, list[bytes], int]]
) -> None:
    contents = []
    for is_compiled in (True, False):
        for each in descriptors:
            os.ftruncate(each, 0)
        if is_compiled:
            found = compiled.write_all([(descriptors[file], parts, at) for file, parts, at in planned])
            assert found == (len(planned), 0)
        else:
            files = [RealFile(each) for each in descriptors]
            write_one_by_one([Write(files[file], parts, at) for file, parts, at in planned])
        contents.append([os.pread(each, 1000, 0) for each in descriptors])
    assert contents[0] == contents[1]


def test_more_pieces_than_the_system_takes_at_once_are_all_written(
    compiled: ModuleType, descriptors: list[int]
) -> None:
    parts = [memoryview(b"%05d" % number)[1:] for number in range(3000)]
    assert compiled.write_all([(descriptors[0], parts, 7)]) == (1, 0)
    assert os.pread(descriptors[0], 20_000, 7) == b"".join(parts)


def test_a_write_that_fails_ends_the_call_and_says_why(compiled: ModuleType, descriptors: list[int]) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        made = [(descriptors[0], [b"one"], 0), (full, [b"two"], 0), (descriptors[1], [b"three"], 0)]
        assert compiled.write_all(made) == (1, errno.ENOSPC)
    finally:
        os.close(full)
    assert os.pread(descriptors[0], 10, 0) == b"one"
    assert os.pread(descriptors[1], 10, 0) == b""


def test_a_piece_that_is_no_buffer_writes_nothing_at_all(compiled: ModuleType, descriptors: list[int]) -> None:
    with pytest.raises(TypeError):
        compiled.write_all([(descriptors[0], [b"one"], 0), (descriptors[1], ["two"], 0)])
    assert os.pread(descriptors[0], 10, 0) == b""


def test_syncing_stops_at_the_first_file_that_cannot_be_synced(compiled: ModuleType, descriptors: list[int]) -> None:
    assert compiled.sync_all(descriptors) == (4, 0)
    assert compiled.sync_all([]) == (0, 0)
    closed = os.dup(descriptors[0])
    os.close(closed)
    assert compiled.sync_all([descriptors[0], closed, descriptors[1]]) == (1, errno.EBADF)


def test_a_disk_tells_errors_of_many_writes_and_syncs_as_its_files_do(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    good, closed = disk.open("good", create=True), disk.open("closed", create=True)
    closed.close()
    done, error = disk.write_many([Write(good, [b"kept"], 0), Write(closed, [b"lost"], 0), Write(good, [b"no"], 9)])
    assert done == 1
    assert error is not None
    assert error.errno == errno.EBADF
    assert good.read(20, 0) == b"kept"
    with pytest.raises(OSError, match="Bad file descriptor"):
        disk.sync_many([good, closed])
    good.close()
