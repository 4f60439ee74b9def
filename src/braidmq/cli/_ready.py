"""How a node that became ready tells it: a short block for people, a file for scripts."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from braidmq import __version__
from braidmq.model.errors import InvalidSetting
from braidmq.node import Node
from braidmq.protocols.listener import Address
from braidmq.settings import redact_url

_BOLD = 1
_DIM = 2
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # recognised, not bound


def announce(node: Node) -> None:
    """What listens where, and what to do next."""
    title = _styled(f"BraidMQ {__version__}", _BOLD)
    rows = [f"  {_styled(f'{name:<14}', _DIM)}{value}" for name, value in (*_rows(node), ("stop", "Ctrl-C"))]
    print(f"\n  {title} is ready\n", *rows, "", sep="\n", flush=True)


def _styled(text: str, code: int) -> str:
    """By hand: what paints the other commands would stay in the node's memory."""
    is_wanted = sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
    return f"\033[{code}m{text}\033[0m" if is_wanted else text


def write_ready_file(path: Path, node: Node) -> None:
    """The process and its addresses as JSON; whoever waits for the file never sees half of it."""
    addresses = {name: [list(place) for place in places] for name, places in node.addresses.items()}
    content = msgspec.json.encode({"pid": os.getpid(), "version": __version__, "listeners": addresses})
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with _naming(path):
        part.write_bytes(content)
        part.replace(path)


def remove_ready_file(path: Path) -> None:
    """Before a node starts and when it stops: the file is there only while a node is ready."""
    with _naming(path):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidSetting(f"--ready-file: cannot write {path}: {error.strerror}; name another file") from error


def _rows(node: Node) -> Iterator[tuple[str, str]]:
    for name, places in node.addresses.items():
        yield name, ", ".join(f"{name}://{place}" for place in places)
    yield "data", f"{node.settings.node.data.absolute()}  (flush: {node.settings.log.flush})"
    if node.settings.store.url:
        yield "store", redact_url(node.settings.store.url)
    if node.console_token is not None:
        place = _reachable(node.addresses["http"][0])
        yield "console", f"http://{place}/console/login?token={node.console_token}"
    if "http" in node.addresses:
        yield "try", f"curl http://{_reachable(node.addresses['http'][0])}/readyz"


def _reachable(address: Address) -> Address:
    """An address that a client on this machine can use."""
    return address._replace(host=_EVERY_ADDRESS.get(address.host, address.host))
