"""Compiles, for one version of a message, the function that writes it. Hot path: it runs for every response.

The function appends pieces to a list: one struct call for each run of fixed-width fields, strings and records as they
are. Records are never copied here; who wants one buffer joins the list, who can send many sends them.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from braidmq.protocols.kafka.codec._schema import ApiMessage, Buffer, Field, Kind, Shape, Struct, fields_of
from braidmq.protocols.kafka.codec._source import Source
from braidmq.protocols.kafka.codec._varint import SMALL, write_uvarint

STRING_BYTES_MAX = (1 << 15) - 1

Encoder = Callable[[Any, list[Buffer]], None]


class Unwritable(ValueError):
    """What the function raises where a value does not fit the version."""


def compile_encoder(title: str, message: type[ApiMessage], version: int) -> Encoder:
    """The function (message, pieces) that appends the message's bytes to the pieces.

    It raises Unwritable, struct.error, TypeError, AttributeError, OverflowError or UnicodeEncodeError for values that
    the version cannot carry; the pieces are then of no use.
    """
    writer = _EncoderWriter(title)
    with writer.source.block("def encode(message, pieces):"):
        kind = writer.source.value(message.__name__, message)
        writer.source.add(f"if message.__class__ is not {kind}: raise Unwritable(f'not a {{{kind}.__name__}}')")
        writer.source.add("add = pieces.append")
        writer.struct(message, "message", version, version >= message.FLEXIBLE_SINCE, message.__name__)
        writer.flush()
    return writer.source.compiled("encode")


class _EncoderWriter:
    """Writes source for structs, fields and values. `_run` is the run of fixed-width members not yet written."""

    def __init__(self, title: str) -> None:
        values = {"Unwritable": Unwritable, "SMALL": SMALL, "write_uvarint": write_uvarint, "pack": struct.pack}
        self.source = Source(title, values)
        self._run: list[tuple[str, str]] = []
        self._add = "add"

    def struct(self, kind: type[Struct], owner: str, version: int, flexible: bool, path: str) -> None:
        """Write the struct that the name `owner` holds."""
        fields = fields_of(kind)
        for field in fields:
            if version not in field.versions and not field.ignorable:
                self._refuse(field, f"{owner}.{field.name}", f"{path}.{field.name}")
        for field in fields:
            if field.is_plain(version):
                self._plain(field, f"{owner}.{field.name}", version, flexible, f"{path}.{field.name}")
        if flexible:
            self._tags([field for field in fields if field.is_tagged(version)], owner, version, path)

    def flush(self) -> None:
        """Write the run: one call for all of it, or a constant where it holds nothing but zeros."""
        if not self._run:
            return
        formats = "".join(member for member, _ in self._run)
        values = [value for _, value in self._run if value]
        self._run = []
        if not values:
            self.source.add(f"{self._add}({bytes(len(formats))!r})")
            return
        pack = self.source.value("pack", _pack(formats))
        self.source.add(f"{self._add}({pack}({', '.join(values)}))")

    def _refuse(self, field: Field, value: str, path: str) -> None:
        """A value other than the default would be lost: say so."""
        self.source.add(f"if {self._is_set(field, value)}: raise Unwritable('this version has no {path}')")

    def _is_set(self, field: Field, value: str) -> str:
        if field.default is None:
            return f"{value} is not None"
        if isinstance(field.default, list):
            return f"({value} is None or {value})" if field.nullable.last >= 0 else value
        if isinstance(field.default, bool | int | str):
            return f"{value} != {field.default!r}"
        return f"{value} != {self.source.value('default', field.default)}"

    def _plain(self, field: Field, value: str, version: int, flexible: bool, path: str) -> None:
        self._value(field.shape, value, version, flexible and field.flexible, version in field.nullable, path)

    def _value(self, shape: Shape, value: str, version: int, flexible: bool, nullable: bool, path: str) -> None:
        if shape.kind is Kind.FIXED:
            self._fixed(shape.format, value, path)
            return
        if not nullable:
            self._present(shape, value, version, flexible, nullable, path)
            return
        name = self.source.fresh("value")
        self.flush()
        self.source.add(f"{name} = {value}")
        with self.source.block(f"if {name} is None:"):
            self.source.add(f"{self._add}({_null(shape.kind, flexible)!r})")
        with self.source.block("else:"):
            self._present(shape, name, version, flexible, nullable, path)
            self.flush()

    def _present(self, shape: Shape, value: str, version: int, flexible: bool, nullable: bool, path: str) -> None:
        """Write a value that is not null."""
        match shape.kind:
            case Kind.STRUCT:
                self._struct_value(shape, value, version, flexible, nullable, path)
            case Kind.ARRAY:
                self._array(shape, value, version, flexible, path)
            case Kind.STRING:
                self._string(value, flexible, path)
            case _:
                self._bytes(value, flexible)

    def _fixed(self, format: str, value: str, path: str) -> None:
        if format == "16s":
            # struct would cut or fill what has another length, without a word.
            name = self.source.fresh("uuid")
            self.source.add(f"{name} = {value}")
            self.source.add(f"if len({name}) != 16: raise Unwritable('{path} has not 16 bytes')")
            value = name
        self._run.append((format, value))

    def _length(self, length: str, format: str, flexible: bool) -> None:
        """Write a length, the last member of a run; compact lengths count from one."""
        if not flexible:
            self._run.append((format, length))
            self.flush()
            return
        self.flush()
        name = self.source.fresh("length")
        self.source.add(f"{name} = {length} + 1")
        self.source.add(f"{self._add}(SMALL[{name}] if {name} < 128 else write_uvarint({name}))")

    def _string(self, value: str, flexible: bool, path: str) -> None:
        name = self.source.fresh("text")
        self.source.add(f"{name} = {value}.encode()")
        if flexible:
            self.source.add(f"if len({name}) > {STRING_BYTES_MAX}: raise Unwritable('{path} is too long')")
        self._length(f"len({name})", "h", flexible)
        self.source.add(f"{self._add}({name})")

    def _bytes(self, value: str, flexible: bool) -> None:
        self._length(f"len({value})", "i", flexible)
        self.source.add(f"{self._add}({value})")

    def _struct_value(self, shape: Shape, value: str, version: int, flexible: bool, nullable: bool, path: str) -> None:
        assert shape.struct is not None
        name = self.source.fresh("struct")
        self.source.add(f"{name} = {value}")
        if nullable:
            self._run.append(("b", "1"))
        self.struct(shape.struct, name, version, flexible, path)

    def _array(self, shape: Shape, value: str, version: int, flexible: bool, path: str) -> None:
        assert shape.element is not None
        items = self.source.fresh("items")
        self.source.add(f"{items} = {value}")
        self._length(f"len({items})", "i", flexible)
        if shape.element.kind is Kind.FIXED and shape.element.format != "16s":
            self._numbers(items, shape.element.format)
            return
        item = self.source.fresh("item")
        with self.source.block(f"for {item} in {items}:"):
            self._element(shape.element, item, version, flexible, path)
            self.flush()

    def _numbers(self, items: str, format: str) -> None:
        """An array of numbers in one call. One or none is the usual, and needs no format of its own."""
        one = self.source.value("pack", _pack(format))
        with self.source.block(f"if len({items}) == 1:"):
            self.source.add(f"{self._add}({one}({items}[0]))")
        with self.source.block(f"elif {items}:"):
            self.source.add(f"{self._add}(pack(f'>{{len({items})}}{format}', *{items}))")

    def _element(self, shape: Shape, item: str, version: int, flexible: bool, path: str) -> None:
        if shape.struct is not None:
            self.struct(shape.struct, item, version, flexible, path)
        else:
            self._value(shape, item, version, flexible, False, path)

    def _tags(self, known: Sequence[Field], owner: str, version: int, path: str) -> None:
        """Write the tagged fields that are set; a struct without any ends with a zero, part of the run before it."""
        if not known:
            self._run.append(("x", ""))
            return
        self.flush()
        known = sorted(known, key=lambda field: field.tag)
        any_set = " or ".join(self._is_set(field, f"{owner}.{field.name}") for field in known)
        with self.source.block(f"if {any_set}:"):
            tagged = self.source.fresh("tagged")
            self.source.add(f"{tagged} = []")
            for field in known:
                with self.source.block(f"if {self._is_set(field, f'{owner}.{field.name}')}:"):
                    self._tag(field, tagged, f"{owner}.{field.name}", version, f"{path}.{field.name}")
            self.source.add(f"{self._add}(write_uvarint(len({tagged})))")
            self.source.add(f"{self._add}(b''.join({tagged}))")
        with self.source.block("else:"):
            self.source.add(f"{self._add}(b'\\x00')")

    def _tag(self, field: Field, tagged: str, value: str, version: int, path: str) -> None:
        """One tagged field: its bytes are gathered apart, because their number comes first."""
        outer, inner = self._add, self.source.fresh("inner")
        self.source.add(f"{inner} = []")
        self._add = f"{inner}.append"
        self._plain(field, value, version, True, path)
        self.flush()
        self._add = outer
        body = self.source.fresh("body")
        self.source.add(f"{body} = b''.join({inner})")
        self.source.add(f"{tagged}.append(write_uvarint({field.tag}) + write_uvarint(len({body})) + {body})")


def _null(kind: Kind, flexible: bool) -> bytes:
    if kind is Kind.STRUCT:
        return b"\xff"
    if flexible:
        return b"\x00"
    return b"\xff\xff" if kind is Kind.STRING else b"\xff\xff\xff\xff"


_PACKERS: dict[str, Callable[..., bytes]] = {}


def _pack(formats: str) -> Callable[..., bytes]:
    """The same function for the same run, wherever it occurs."""
    return _PACKERS.setdefault(formats, struct.Struct(">" + formats).pack)
