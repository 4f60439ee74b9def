"""What a value may look like. Each kind turns what a user wrote into a value, or says what it takes instead.

A file has typed values, while flags and the environment only have text; a kind takes both, so that
`segment_bytes = 1048576`, `segment_bytes = "1MiB"` and `BRAID_LOG_SEGMENT_BYTES=1MiB` mean the same.
"""

import re
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Meta

from braidmq.protocols.listener import Address, Endpoint

Value = str | int | Path | Address | tuple[Endpoint, ...] | None

_BYTES = {
    "": 1,
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}
_MS = {"": 1, "ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}
_S = {"": 1, "s": 1, "min": 60, "h": 3_600, "d": 86_400}
_UNITS = {"_bytes": _BYTES, "_ms": _MS, "_s": _S}
_DIGITS_MAX = 18
_QUANTITY = re.compile(rf"([0-9]{{1,{_DIGITS_MAX}}})\s*([A-Za-z]*)\Z")


class Kind(NamedTuple):
    """`parse` raises ValueError for what is not allowed; `show` gives text that parses to the same value."""

    parse: Callable[[object], Value]
    show: Callable[[Value], str]
    allowed: str


def kind_of(name: str, annotation: Any) -> Kind:
    """The kind of a field, from its type, its limits and the unit in its name."""
    hint, meta = typing.get_args(annotation)
    if typing.get_origin(hint) is typing.Literal:
        return _choice(typing.get_args(hint))
    if hint is int:
        return _number(_unit_of(name), meta)
    if hint is Path:
        return Kind(_parse_path, str, "a path")
    if isinstance(hint, types.UnionType):
        return Kind(_parse_address, _show_address, "HOST:PORT, such as 127.0.0.1:8400, or off")
    if typing.get_origin(hint) is tuple:
        return Kind(
            _parse_endpoints, _show_endpoints, "HOST:PORT or HOST:PORT as HOST:PORT, several with commas, or off"
        )
    return _text(meta)


def _choice(words: tuple[str, ...]) -> Kind:
    def parse(given: object) -> Value:
        if given not in words:
            raise ValueError
        return str(given)

    return Kind(parse, str, " or ".join(words) if len(words) == 2 else "one of " + ", ".join(words))


def _text(meta: Meta) -> Kind:
    def parse(given: object) -> Value:
        if not isinstance(given, str) or (meta.pattern and not re.fullmatch(meta.pattern, given)):
            raise ValueError
        return given

    return Kind(parse, str, f"text that matches {meta.pattern}" if meta.pattern else "text")


def _number(units: dict[str, int], meta: Meta) -> Kind:
    low, high = _limit(meta.ge), _limit(meta.le)

    def parse(given: object) -> Value:
        value = _quantity(given, units)
        if not low <= value <= high:
            raise ValueError
        return value

    def show(value: Value) -> str:
        return _show_quantity(_limit(value), units)

    what = "a number" if len(units) == 1 else f"a number with {_unit_names(units)}"
    return Kind(parse, show, f"{what} from {show(low)} to {show(high)}")


def _limit(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("every number among the settings needs a lower and an upper limit")
    return value


def _unit_of(name: str) -> dict[str, int]:
    return next((units for ending, units in _UNITS.items() if name.removesuffix("_max").endswith(ending)), {"": 1})


def _unit_names(units: dict[str, int]) -> str:
    *names, last = [unit for unit in units if unit]
    return f"{', '.join(names)} or {last}"


def _quantity(given: object, units: dict[str, int]) -> int:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    match = _QUANTITY.match(given) if isinstance(given, str) else None
    if match is None or match[2] not in units:
        raise ValueError
    return int(match[1]) * units[match[2]]


def _show_quantity(value: int, units: dict[str, int]) -> str:
    """In the largest unit that leaves a whole number; sizes are mostly powers of two: binary units first."""
    fitting = [(factor, unit) for unit, factor in units.items() if value and not value % factor]
    binary = [pair for pair in fitting if pair[1].endswith("iB")]
    factor, unit = max(binary or fitting, default=(1, ""))
    return f"{value // factor}{unit}"


def _parse_path(given: object) -> Value:
    if not isinstance(given, str) or not given or "\0" in given:
        raise ValueError
    try:
        return Path(given).expanduser()
    except RuntimeError as error:  # a home folder that does not exist
        raise ValueError from error


def _parse_address(given: object) -> Value:
    if given == "off":
        return None
    host, colon, port = given.rpartition(":") if isinstance(given, str) else ("", "", "")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise ValueError
    return Address(host, int(port))


def _parse_endpoints(given: object) -> Value:
    if given == "off":
        return ()
    if not isinstance(given, str):
        raise ValueError
    endpoints = []
    for text in given.split(","):
        listen, as_, advertised = text.strip().partition(" as ")
        endpoints.append(Endpoint(_address(listen), _address(advertised) if as_ else None))
    return tuple(endpoints)


def _address(text: str) -> Address:
    found = _parse_address(text.strip())
    if not isinstance(found, Address):
        raise ValueError
    return found


def _show_endpoints(value: Value) -> str:
    assert isinstance(value, tuple), "a list of addresses"
    return ", ".join(map(str, value)) or "off"


def _show_address(value: Value) -> str:
    return "off" if value is None else str(value)
