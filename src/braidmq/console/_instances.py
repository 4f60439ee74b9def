"""The instance that a page is about. It is chosen in the address, and kept on every address that the page leads to.

Pages and templates write the console's addresses without it. It is put on them here, in one place, when an answer
leaves: on links, forms and what scripts ask for. Where an address names an instance itself, that one counts.
"""

import re
import shlex
from html import escape
from typing import Any, Final
from urllib.parse import quote

from litestar import Request
from litestar.datastructures import State
from litestar.di import NamedDependency

from braidmq.console import ROOT
from braidmq.core.desk.catalogue import Catalogue
from braidmq.model import DEFAULT_INSTANCE

PARAMETER: Final = "instance"
_OF_NO_INSTANCE: Final = "static|preferences|login|logout|events"
_ADDRESS: Final = re.compile(
    r'(?<=\s)(href|action|hx-get|hx-post|data-chart|data-tail|data-leads|data-favourite)="'
    rf'({ROOT}(?!/(?:{_OF_NO_INSTANCE})\b)(?:[/?][^"]*)?)"'
)
"""Addresses of the console in attributes. What pages show of others is escaped, so it holds no quotation mark."""
_ASKING_FORM: Final = re.compile(r'<form\b[^>]*\bmethod="get"[^>]*>')
"""A browser drops the query of such a form's address, and sends its fields instead."""
_COMMANDS: Final = tuple(
    f"braid {word} "
    for word in ("consume", "dlq", "group", "message", "produce", "subscription", "timer", "topic", "trace", "tx")
)
_NAMED: Final = re.compile(rf"[?&;]{PARAMETER}=")


def instance_of(request: Request[Any, Any, State]) -> str:
    """As the address says it, whether there is such an instance or not."""
    return str(request.query_params.get(PARAMETER, "")).strip() or DEFAULT_INSTANCE


def known_instance(request: Request[Any, Any, State], catalogue: NamedDependency[Catalogue]) -> str:
    """The chosen one, for pages that show what is in it. Raises UnknownInstance."""
    name = instance_of(request)
    if name != DEFAULT_INSTANCE:
        catalogue.instances.describe(name)
    return name


def within(address: str, instance: str) -> str:
    """The address with the instance on it."""
    if instance == DEFAULT_INSTANCE or _NAMED.search(address):
        return address
    return f"{address}{'&' if '?' in address else '?'}{PARAMETER}={quote(instance, safe='')}"


def keep_instance(page: str, instance: str) -> str:
    """The page, all of whose addresses lead to the same instance."""
    if instance == DEFAULT_INSTANCE:
        return page
    field = f'<input type="hidden" name="{PARAMETER}" value="{escape(instance)}">'
    page = _ADDRESS.sub(lambda found: f'{found[1]}="{_escaped(found[2], instance)}"', page)
    return _ASKING_FORM.sub(lambda found: found[0] + field, page)


def command_within(command: str, instance: str) -> str:
    """The command, for the instance, where what it is about belongs to one."""
    if instance == DEFAULT_INSTANCE or not command.startswith(_COMMANDS):
        return command
    return f"{command} --instance {shlex.quote(instance)}"


def _escaped(address: str, instance: str) -> str:
    """As `within`, for an address that is escaped already."""
    added = within(address, instance)[len(address) :]
    return address + escape(added)
