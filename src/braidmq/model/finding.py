"""What a check says: how it stands, what was found, and what to do where it is not well."""

import enum

import msgspec


class Standing(enum.StrEnum):
    """`WARN` works but may surprise; with `FAIL` a node does not start, or does not keep its promises."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(msgspec.Struct, frozen=True):
    """One line of the doctor."""

    check: str
    standing: Standing
    found: str
    advice: str = ""


def ok(check: str, found: str) -> Finding:
    return Finding(check, Standing.OK, found)


def warn(check: str, found: str, advice: str) -> Finding:
    return Finding(check, Standing.WARN, found, advice)


def fail(check: str, found: str, advice: str) -> Finding:
    return Finding(check, Standing.FAIL, found, advice)
