"""What a check says: how it stands, what was found, and what to do where it is not well."""

import enum

import msgspec

from braidmq.model.saying import Saying


class Standing(enum.StrEnum):
    """`WARN` works but may surprise; with `FAIL` a node does not start, or does not keep its promises."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(msgspec.Struct, frozen=True):
    """One line of the doctor, or of an inspection. `subject` is the thing it is about, `command` what mends it, `said`
    what was found as a pattern and what fills it in."""

    check: str
    standing: Standing
    found: str
    advice: str = ""
    subject: str = ""
    command: str = ""
    said: Saying | None = None


def ok(check: str, found: str | Saying) -> Finding:
    return _finding(check, Standing.OK, found)


def warn(check: str, found: str | Saying, advice: str, *, subject: str = "", command: str = "") -> Finding:
    return _finding(check, Standing.WARN, found, advice, subject, command)


def fail(check: str, found: str | Saying, advice: str, *, subject: str = "", command: str = "") -> Finding:
    return _finding(check, Standing.FAIL, found, advice, subject, command)


def _finding(
    check: str, standing: Standing, found: str | Saying, advice: str = "", subject: str = "", command: str = ""
) -> Finding:
    said = found if isinstance(found, Saying) else None
    return Finding(check, standing, str(found), advice, subject, command, said)
