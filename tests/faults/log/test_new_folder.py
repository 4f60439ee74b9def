"""A log begins in a folder that is not there yet, or that cannot be had: the folder's name is on disk before any of its
files is relied on, and whoever opens it hears in the words of the log why it cannot be."""

import errno
import os
from pathlib import Path

import pytest

from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.model.errors import StorageFailed, StorageFull
from braidmq.node._node import _usable_folder
from faults.log.batches import plain, topic

OPTIONS = LogOptions(reserve_bytes=0)
NEEDS_PROC = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="what is synced is named in /proc")


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every folder and file that is synced, in order."""
    found: list[Path] = []

    def watched(sync: str) -> None:
        really = getattr(os, sync)

        def note(descriptor: int) -> None:
            found.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
            really(descriptor)

        monkeypatch.setattr(os, sync, note)

    watched("fsync")
    watched("fdatasync")
    return found


@NEEDS_PROC
async def test_the_names_of_folders_that_are_made_are_on_disk_before_anything_in_them(
    tmp_path: Path, synced: list[Path]
) -> None:
    data = tmp_path / "new" / "data"
    log = await EmbeddedLog.open(data / "log", OPTIONS)
    await log.create_topic(topic((1,)))
    await log.append([(1, plain("kept"))])
    await log.close()
    assert synced[:3] == [tmp_path, tmp_path / "new", data]
    assert any(path.parent == data / "log" / "journal" for path in synced[3:])


@NEEDS_PROC
async def test_a_folder_that_an_earlier_life_may_have_had_no_time_to_sync_is_synced(
    tmp_path: Path, synced: list[Path]
) -> None:
    (tmp_path / "log").mkdir()
    log = await EmbeddedLog.open(tmp_path / "log", OPTIONS)
    await log.close()
    assert synced[0] == tmp_path


@NEEDS_PROC
def test_the_name_of_the_data_folder_is_on_disk_before_the_node_uses_it(tmp_path: Path, synced: list[Path]) -> None:
    assert _usable_folder(tmp_path / "new" / "data") == tmp_path / "new" / "data"
    assert synced == [tmp_path, tmp_path / "new"]


async def test_a_folder_that_cannot_be_made_is_refused_as_a_log_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageFailed, match="cannot be opened"):
        await EmbeddedLog.open(tmp_path / "file" / "log", OPTIONS)


async def test_a_disk_without_room_for_the_lock_is_told_to_be_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.open

    def refuse_lock(path: Path, flags: int, mode: int = 0o777) -> int:
        if Path(path).name == "lock":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really(path, flags, mode)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse_lock)
        with pytest.raises(StorageFull):
            await EmbeddedLog.open(tmp_path, OPTIONS)
    log = await EmbeddedLog.open(tmp_path, OPTIONS)
    await log.close()
