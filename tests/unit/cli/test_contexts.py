"""The file of contexts, and which of flag, environment and file counts."""

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from braidmq.cli._contexts import DEFAULT_URL, Context, contexts_file, resolve
from braidmq.model.errors import InvalidSetting

Braid = Callable[..., Any]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("BRAID_URL", "BRAID_CONTEXT", "BRAID_INSTANCE"):
        monkeypatch.delenv(name, raising=False)


def test_without_anything_the_node_of_this_machine_is_meant() -> None:
    assert resolve("", "", "") == Context(DEFAULT_URL, "default")


def test_the_first_context_is_selected_and_only_its_owner_can_read_the_file(braid: Braid) -> None:
    assert braid("context", "add", "one", "http://one:8400", "--instance", "retail").status == 0
    assert resolve("", "", "") == Context("http://one:8400", "retail")
    assert stat.S_IMODE(contexts_file().stat().st_mode) == 0o600


def test_a_flag_beats_the_environment_which_beats_the_file(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    braid("context", "add", "one", "http://one")
    braid("context", "add", "two", "http://two")
    assert resolve("", "", "").url == "http://one"
    monkeypatch.setenv("BRAID_CONTEXT", "two")
    assert resolve("", "", "").url == "http://two"
    monkeypatch.setenv("BRAID_URL", "http://three")
    assert resolve("", "", "").url == "http://three"
    assert resolve("", "one", "").url == "http://one"
    assert resolve("http://four", "one", "").url == "http://four"
    monkeypatch.setenv("BRAID_INSTANCE", "a")
    assert resolve("", "", "").instance == "a"
    assert resolve("", "", "b").instance == "b"


@pytest.mark.parametrize(
    ("name", "url"), [("a b", "http://x"), ("a", "ftp://x"), ("a", 'http://x"\nselected="y'), ("", "http://x")]
)
def test_what_a_file_cannot_hold_is_refused(braid: Braid, name: str, url: str) -> None:
    assert braid("context", "add", name, url).status == 2
    assert not contexts_file().exists()


def test_passwords_are_kept_and_not_shown(braid: Braid) -> None:
    braid("context", "add", "one", "http://user:geheim@one")
    assert resolve("", "", "").url == "http://user:geheim@one"
    for arguments in (("list",), ("show",), ("show", "one"), ("list", "-o", "json")):
        ended = braid("context", *arguments)
        assert "geheim" not in ended.out + ended.err


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    contexts_file().parent.mkdir()
    contexts_file().write_text("what?")
    with pytest.raises(InvalidSetting, match=r"contexts\.toml.*correct the file"):
        resolve("", "", "")


def test_a_context_that_is_removed_is_not_selected_any_more(braid: Braid) -> None:
    braid("context", "add", "one", "http://one")
    assert braid("context", "remove", "one", "--dry-run").status == 0
    assert resolve("", "", "").url == "http://one"
    assert braid("context", "remove", "one", "--yes").status == 0
    assert resolve("", "", "").url == DEFAULT_URL
    assert braid("context", "select", "one").status == 2


def test_what_names_a_node_to_ask_is_no_setting_of_a_node_to_be(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BRAID_URL", "BRAID_CONTEXT", "BRAID_INSTANCE"):
        monkeypatch.setenv(name, "x")
    assert braid("config", "show").status == 0
