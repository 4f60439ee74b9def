"""How results are shown: one renderer for all commands, as a table for people, or as JSON, YAML or CSV for scripts.

A column is written `heading=field:form`, such as `size=size_bytes:bytes`; heading and form may be left out, and a field
may be inside another, as in `message.id`. What comes from messages is never trusted: control characters are shown as
what they are, so that no body can speak to the terminal.
"""

import csv
import io
import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from braidmq.cli._times import shown_span, shown_time
from braidmq.model.errors import InvalidSetting

FORMATS: Final = ("table", "json", "yaml", "csv")
_TEXT_LENGTH: Final = 60
_BOLD: Final = "\x1b[1m"
_PLAIN: Final = "\x1b[0m"


class Column(NamedTuple):
    """What a column is called, where its values are, and how they are written."""

    heading: str
    field: str
    form: Callable[[Any], str]


def checked_format(output: str) -> str:
    """Raises InvalidSetting for a form that does not exist."""
    if output not in FORMATS:
        raise InvalidSetting(f"--output: cannot be {output!r}; it is table, json, yaml or csv")
    return output


def show_rows(items: Sequence[Mapping[str, Any]], columns: Iterable[str], output: str) -> None:
    """Many of a kind."""
    if output == "table":
        _print_table(items, [_column(each) for each in columns])
    elif output == "csv":
        _print_csv(items)
    else:
        print(_document(list(items), output), end="")


def show_one(item: Mapping[str, Any], output: str) -> None:
    """One thing with all that is known of it."""
    if output == "table":
        _print_fields(item)
    elif output == "csv":
        _print_csv([item])
    else:
        print(_document(item, output), end="")


def is_plain() -> bool:
    """Whether colours would disturb: somebody said so, or nobody looks."""
    return bool(os.environ.get("NO_COLOR")) or not sys.stdout.isatty()


def harmless(text: str) -> str:
    """Text whose control characters, and those that turn the direction of writing, are written out."""
    if text.isprintable():
        return text
    return "".join(each if each == " " or each.isprintable() else _written_out(each) for each in text)


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _document(value: Any, output: str) -> str:
    if output == "json":
        return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    import yaml

    return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False))


def _print_csv(items: Sequence[Mapping[str, Any]]) -> None:
    """Every field of every item, whatever a table would show."""
    fields = list(dict.fromkeys(name for item in items for name in item))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if fields:
        writer.writerow(fields)
    writer.writerows([_cell(item.get(name)) for name in fields] for item in items)
    print(out.getvalue(), end="")


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value


def _print_table(items: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> None:
    rows = [[column.form(_at(item, column.field)) for column in columns] for item in items]
    numbers = [all(_is_number(_at(item, column.field)) for item in items) for column in columns]
    widths = [max(map(_width, (column.heading, *(row[at] for row in rows)))) for at, column in enumerate(columns)]
    heading = _line([column.heading for column in columns], widths, numbers)
    print(heading if is_plain() else f"{_BOLD}{heading}{_PLAIN}")
    for row in rows:
        print(_line(row, widths, numbers))


def _print_fields(item: Mapping[str, Any]) -> None:
    width = max((len(name) for name in item), default=0)
    for name, value in item.items():
        label = f"{name:<{width}}"
        print(f"{label if is_plain() else f'{_BOLD}{label}{_PLAIN}'}  {_form_of(name)(value)}")


def _line(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    padded = []
    for cell, width, is_number in zip(cells, widths, numbers, strict=True):
        space = " " * (width - _width(cell))
        padded.append(space + cell if is_number else cell + space)
    return "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """In places on a screen; Chinese characters take two."""
    return len(text) + sum(unicodedata.east_asian_width(each) in "WF" for each in text if each > "\u02ff")


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _column(text: str) -> Column:
    heading, _, rest = text.partition("=")
    field, _, form = (rest or heading).partition(":")
    heading = heading if rest else field
    return Column(heading, field, _FORMS[form] if form else _form_of(field))


def _at(item: Mapping[str, Any], field: str) -> Any:
    value: Any = item
    for part in field.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _form_of(field: str) -> Callable[[Any], str]:
    """By the unit at the end of its name."""
    if field in _SPANS:
        return _span
    if field.endswith("_ms"):
        return _time
    return _bytes if field.endswith("_bytes") else _plain


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "-"
    if isinstance(value, Mapping):
        return ", ".join(f"{harmless(str(name))}={_plain(each)}" for name, each in value.items()) or "-"
    return harmless(str(value))


def _time(value: Any) -> str:
    """A moment, or with a fraction a length that somebody measured."""
    if isinstance(value, float):
        return f"{value:.2f} ms"
    return shown_time(value) if isinstance(value, int) and value > 0 else "-"


def _span(value: Any) -> str:
    if value == -1:
        return "for ever"
    return shown_span(value) if isinstance(value, (int, float)) else "-"


def _bytes(value: Any) -> str:
    if not isinstance(value, (int, float)) or value < 0:
        return "-"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f} B"


def _text(value: Any) -> str:
    shown = _plain(value)
    return shown if len(shown) <= _TEXT_LENGTH else shown[: _TEXT_LENGTH - 1] + "…"


_SPANS: Final = frozenset({"oldest_ms", "age_ms", "retention_ms", "took_ms"})
_FORMS: Final[Mapping[str, Callable[[Any], str]]] = {
    "plain": _plain,
    "time": _time,
    "span": _span,
    "bytes": _bytes,
    "text": _text,
}
