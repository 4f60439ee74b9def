"""Errors in the reader's language: what happened, its particulars, and what to do.

A sentence that can be said in other languages is said so. Of others only the kind of the error can; their English
sentence then stands below it, as particulars.
"""

from http import HTTPStatus
from typing import Final, NamedTuple

from braidmq.console._words import speaker
from braidmq.model import errors
from braidmq.model.errors import BraidError

ENGLISH: Final = "en"
_KINDS: Final = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BraidError)
}
STATUSES: Final = {
    HTTPStatus.BAD_REQUEST: "The address or the form holds something that cannot be read.",
    HTTPStatus.FORBIDDEN: "The form is too old: load its page again.",
    HTTPStatus.NOT_FOUND: "There is no such page.",
    HTTPStatus.METHOD_NOT_ALLOWED: "Nothing can be sent to this address.",
}
"""What errors of the framework mean to whoever sits before a page."""


class Explained(NamedTuple):
    """An error as a page tells it. `particulars` is English, and empty where the title says all."""

    title: str
    code: str
    particulars: str = ""
    fix: str = ""


def explained(error: BraidError, language: str) -> Explained:
    say, sentence = speaker(language), error.said
    fix = say(error.fix) if error.fix else ""
    if sentence is not None:
        names = {name: say(word) if name == "what" else word for name, word in sentence.names.items()}
        return Explained(say(sentence.pattern, **names), error.code, fix=fix)
    title = say(error.message)
    if language == ENGLISH or title != error.message:
        return Explained(title, error.code, fix=fix)
    return Explained(say(type(error).__doc__ or error.code), error.code, particulars=error.message, fix=fix)


def explained_note(note: str, language: str) -> Explained:
    """Of what the core has noted of an error: its code, and its message behind it."""
    code, _, message = note.partition(": ")
    kind = _KINDS.get(code)
    if language == ENGLISH or kind is None:
        return Explained(note, code)
    return explained(kind(message), language)


def explained_status(status: HTTPStatus, detail: str, language: str) -> Explained:
    """Of an error that the framework has found."""
    return Explained(speaker(language)(STATUSES.get(status, status.phrase)), status.name.lower(), particulars=detail)
