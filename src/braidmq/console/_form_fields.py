"""What forms of pages send, read in one place, and what they are answered with."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from litestar import Response
from litestar.enums import RequestEncodingType
from litestar.params import Body

from braidmq.console._instances import instance_of, within
from braidmq.console._render import ConsoleRequest
from braidmq.model import numbers
from braidmq.model.errors import InvalidRequest
from braidmq.model.saying import say

Form = Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]
"""The fields of a form, each once."""

DIGITS_MAX: Final = 18


def text(form: Mapping[str, str], name: str) -> str:
    return form.get(name, "").strip()


def whole(form: Mapping[str, str], name: str) -> int | None:
    """A whole number with or without a minus, or None for a field that was left empty. Raises InvalidRequest that
    names the field."""
    said = text(form, name)
    if not said:
        return None
    size = whole_number(name, said.removeprefix("-"), said)
    return -size if said.startswith("-") else size


def whole_number(name: str, digits: str, said: str | None = None) -> int:
    """The number that these digits are; `said` is what was written, where that is more. Raises InvalidRequest."""
    number = numbers.whole_number(digits, DIGITS_MAX)
    if number is None:
        written = repr((digits if said is None else said)[:40])
        raise InvalidRequest(say("{name}: a whole number is wanted, not {text}", name=name, text=written))
    return number


async def form_of(request: ConsoleRequest) -> dict[str, str]:
    """A form's fields, without those that were left empty."""
    form = await request.form()
    return {name: value.strip() for name, value in form.items() if isinstance(value, str) and value.strip()}


def wanted(form: Mapping[str, str], name: str) -> str:
    """A field that must be filled in. Raises InvalidRequest."""
    if name not in form:
        raise InvalidRequest(say("{name}: it is wanted, and was left empty", name=name))
    return form[name]


def properties(form: Mapping[str, str], name: str) -> dict[str, str]:
    """One `name=value` in a line. Raises InvalidRequest that names the line."""
    found: dict[str, str] = {}
    for line in text(form, name).splitlines():
        if line.strip():
            key, equals, value = line.partition("=")
            if not equals or not key.strip():
                raise InvalidRequest(
                    say("{name}: write one name=value in a line, not {line}", name=name, line=repr(line[:40]))
                )
            found[key.strip()] = value.strip()
    return found


def leads_to(request: ConsoleRequest, path: str) -> Response[Any]:
    """What a form that was sent by script is answered with: the page to go to, in the same instance."""
    return Response("", media_type="text/html", headers={"hx-redirect": within(path, instance_of(request))})
