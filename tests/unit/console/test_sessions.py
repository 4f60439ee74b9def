"""Sessions of the console: the token lets in, the cookie keeps in, for a while."""

from pathlib import Path

import pytest

from braidmq.console._sessions import SESSION_S, TOKEN_FILE_NAME, Sessions, kept_token


def test_only_the_token_begins_a_session() -> None:
    sessions = Sessions("right")
    assert sessions.begin("wrong") is None
    assert sessions.begin("") is None
    assert sessions.is_good(sessions.begin(" right\n"))


def test_a_session_ends_after_its_time() -> None:
    now_s = [1_000.0]
    sessions = Sessions("right", now_s=lambda: now_s[0])
    cookie = sessions.begin("right")
    now_s[0] += SESSION_S - 1
    assert sessions.is_good(cookie)
    now_s[0] += 2
    assert not sessions.is_good(cookie)


@pytest.mark.parametrize("cookie", [None, "", ".", "1.", "99999999999.00", "x.y", "²³.aa", "9" * 5000 + ".aa"])
def test_a_forged_cookie_is_refused(cookie: str | None) -> None:
    assert not Sessions("right").is_good(cookie)


def test_a_longer_life_cannot_be_written_into_a_cookie() -> None:
    sessions = Sessions("right")
    until, _, seal = (sessions.begin("right") or "").partition(".")
    assert not sessions.is_good(f"{int(until) + 1}.{seal}")


def test_a_new_token_ends_all_sessions() -> None:
    cookie = Sessions("old").begin("old")
    assert not Sessions("new").is_good(cookie)


def test_the_token_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    token = kept_token(tmp_path)
    assert len(token) >= 32
    assert kept_token(tmp_path) == token
    assert (tmp_path / TOKEN_FILE_NAME).stat().st_mode & 0o777 == 0o600
