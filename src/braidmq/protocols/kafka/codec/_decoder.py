"""Compiles, for one version of a message, the function that reads it. Hot path: it runs for every request.

The function is flat: one struct call for each run of fixed-width fields, with the length of what follows as the last
member of the run; loops for arrays; no calls to anything of ours but where a varint is long or an unknown tag comes.

How hostile input is met, with hardly a check on the way:
- a number that is cut off makes struct or the index raise, and the caller turns that into the one error;
- a slice that reaches behind the end comes out short, but leaves the position there, from where nothing else can be
  read, and the end of the function refuses it. Positions never go back;
- before an array is read, its length is held against the bytes that are left and the least that an element takes, and
  against what is left of ELEMENTS_MAX.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from braidmq.protocols.kafka.codec._schema import (
    FIXED_SIZES_BYTES,
    ApiMessage,
    Field,
    Kind,
    Shape,
    Struct,
    fields_of,
    min_size_bytes,
)
from braidmq.protocols.kafka.codec._source import Source
from braidmq.protocols.kafka.codec._varint import read_uvarint, skip_tags

STRING_BYTES_MAX = (1 << 15) - 1
ELEMENTS_MAX = 1_000_000
"""Array elements in one frame, all told. An element of three bytes becomes a hundred in memory, so the size of a frame
alone bounds too little; a client that names every partition of a large cluster stays far below."""

_ONCE = (None,)
"""What a loop over one element goes through: most arrays have one, and a range would cost more than the element."""


class Unreadable(ValueError):
    """What the function raises where it finds something wrong by itself."""


class Part(NamedTuple):
    """One message in one version: a frame is a header and a body, one behind the other."""

    message: type[ApiMessage]
    version: int

    @property
    def flexible(self) -> bool:
        return self.version >= self.message.FLEXIBLE_SINCE


def compile_decoder(title: str, parts: Sequence[Part]) -> Callable[[bytes, bool], Any]:
    """The function (data, strict) that reads the parts, one behind the other, and returns them as a tuple.

    It raises Unreadable, BadVarint, struct.error or IndexError, and nothing else, for whatever bytes it is given.
    """
    writer = _DecoderWriter(title)
    source = writer.source
    with source.block("def decode(data, strict):"):
        source.add("end = len(data)")
        source.add(f"room = {ELEMENTS_MAX}")
        if any(_has_records(part.message, part.version) for part in parts):
            source.add("view = memoryview(data)")
        source.add("pos = 0")
        results = [writer.struct(part.message, part.version, part.flexible, part.message.__name__) for part in parts]
        writer.flush()
        source.add("if pos != end and (strict or pos > end):")
        source.add("    raise Unreadable(f'{end} bytes where the fields take {pos}')")
        source.add(f"return ({', '.join(results)},)")
    return source.compiled("decode")


def _has_records(message: type[Struct], version: int) -> bool:
    for field in fields_of(message):
        shape = field.shape.element or field.shape
        if shape.kind is Kind.RECORDS and version in field.versions:
            return True
        if shape.struct is not None and _has_records(shape.struct, version):
            return True
    return False


class _DecoderWriter:
    """Writes source for structs, fields and values. `_run` is the run of fixed-width members not yet written."""

    def __init__(self, title: str) -> None:
        values = {
            "ONCE": _ONCE,
            "Unreadable": Unreadable,
            "read_uvarint": read_uvarint,
            "skip_tags": skip_tags,
            "unpack_from": struct.unpack_from,
        }
        self.source = Source(title, values)
        self._run: list[tuple[str, str]] = []

    def struct(self, kind: type[Struct], version: int, flexible: bool, path: str) -> str:
        """Read a struct; the expression that makes it."""
        fields = fields_of(kind)
        found: dict[str, str] = {}
        for field in fields:
            if field.is_plain(version):
                found[field.name] = self._plain(field, version, flexible, f"{path}.{field.name}")
        if flexible:
            found |= self._tags([field for field in fields if field.is_tagged(version)], version, path)
        values = [found.get(field.name) or self._default(field) for field in fields]
        return f"{self.source.value(kind.__name__, kind)}({', '.join(values)})"

    def flush(self) -> None:
        """Write the run: one call for all of it."""
        if not self._run:
            return
        formats, names = zip(*self._run, strict=True)
        self._run = []
        if formats == ("B",):
            self.source.add(f"{names[0]} = data[pos]")
        else:
            unpack = self.source.value("unpack", _unpack("".join(formats)))
            self.source.add(f"{', '.join(names)}, = {unpack}(data, pos)")
        self.source.add(f"pos += {sum(FIXED_SIZES_BYTES[name] for name in formats)}")

    def _default(self, field: Field) -> str:
        """An expression for the default: immutable ones by value, others made anew."""
        if isinstance(field.default, list):
            return "[]"
        if isinstance(field.default, Struct):
            return f"{self.source.value(type(field.default).__name__, type(field.default))}()"
        if field.default is None or isinstance(field.default, bool | int | str):
            return repr(field.default)
        return self.source.value("default", field.default)

    def _plain(self, field: Field, version: int, flexible: bool, path: str) -> str:
        return self._value(field.shape, version, flexible and field.flexible, version in field.nullable, path)

    def _value(self, shape: Shape, version: int, flexible: bool, nullable: bool, path: str) -> str:
        """Read a value; the name or the expression that holds it."""
        match shape.kind:
            case Kind.FIXED:
                return self._member(shape.format, "value")
            case Kind.STRUCT:
                return self._struct_value(shape, version, flexible, nullable, path)
            case Kind.ARRAY:
                return self._array(shape, version, flexible, nullable, path)
            case _:
                return self._bytes(shape.kind, flexible, nullable, path)

    def _member(self, format: str, stem: str) -> str:
        name = self.source.fresh(stem)
        self._run.append((format, name))
        return name

    def _struct_value(self, shape: Shape, version: int, flexible: bool, nullable: bool, path: str) -> str:
        assert shape.struct is not None
        if not nullable:
            return self.struct(shape.struct, version, flexible, path)
        present = self._member("b", "present")
        self.flush()
        name = self.source.fresh("struct")
        with self.source.block(f"if {present} < 0:"):
            self.source.add(f"{name} = None")
        with self.source.block("else:"):
            made = self.struct(shape.struct, version, flexible, path)
            self.flush()
            self.source.add(f"{name} = {made}")
        return name

    def _length(self, kind: Kind, flexible: bool, path: str) -> str:
        """Read a length; the name holds one more than the length where it is compact, and 0 or less for null."""
        length = self._member("B" if flexible else "h" if kind is Kind.STRING else "i", "length")
        self.flush()
        if flexible:
            with self.source.block(f"if {length} > 127:"):
                self._long_length(length, kind, path)
        return length

    def _long_length(self, length: str, kind: Kind, path: str) -> None:
        """The rest of a compact length. Records nearly always come here, so theirs is read in place up to 2 MiB."""
        source = self.source
        if kind is not Kind.RECORDS:
            source.add(f"{length}, pos = read_uvarint(data, pos - 1)")
            if kind is Kind.STRING:
                source.add(f"if {length} > {STRING_BYTES_MAX + 1}: raise Unreadable('{path} is too long')")
            return
        second, third = source.fresh("second"), source.fresh("third")
        source.add(f"{second} = data[pos]")
        with source.block(f"if {second} < 128:"):
            source.add(f"{length} += ({second} << 7) - 128")
            source.add("pos += 1")
        with source.block("else:"):
            source.add(f"{third} = data[pos + 1]")
            with source.block(f"if {third} < 128:"):
                source.add(f"{length} += ({third} << 14) + ({second} << 7) - 16512")
                source.add("pos += 2")
            with source.block("else:"):
                source.add(f"{length}, pos = read_uvarint(data, pos - 1)")

    def _null(self, length: str, flexible: bool) -> str:
        return f"not {length}" if flexible else f"{length} < 0"

    def _bytes(self, kind: Kind, flexible: bool, nullable: bool, path: str) -> str:
        """A string, bytes or records. Text that is no UTF-8 is mended as Java does it, not refused."""
        text = kind is Kind.STRING
        length = self._length(kind, flexible, path)
        name, stop = self.source.fresh("value"), self.source.fresh("stop")
        with self.source.block(f"if {self._null(length, flexible)}:"):
            self.source.add(f"{name} = None" if nullable else f"raise Unreadable('{path} is null')")
        lines = [
            f"{stop} = pos + {length}{' - 1' if flexible else ''}",
            f"{name} = {'view' if kind is Kind.RECORDS else 'data'}[pos:{stop}]"
            + (".decode('utf-8', 'replace')" if text else ""),
            f"pos = {stop}",
        ]
        if not nullable:
            for line in lines:
                self.source.add(line)
            return name
        with self.source.block("else:"):
            for line in lines:
                self.source.add(line)
        return name

    def _array(self, shape: Shape, version: int, flexible: bool, nullable: bool, path: str) -> str:
        assert shape.element is not None
        count = self._length(Kind.ARRAY, flexible, path)
        name = self.source.fresh("items")
        with self.source.block(f"if {self._null(count, flexible)}:"):
            self.source.add(f"{name} = None" if nullable else f"raise Unreadable('{path} is null')")
        with self.source.block("else:"):
            if flexible:
                self.source.add(f"{count} -= 1")
            size = max(1, min_size_bytes(shape.element, version, flexible=flexible))
            self.source.add(f"room -= {count}")
            with self.source.block(f"if room < 0 or {count} * {size} > end - pos:"):
                self.source.add(f"raise Unreadable(f'{path} claims {{{count}}} elements in {{end - pos}} bytes')")
            if shape.element.kind is Kind.FIXED:
                self._fixed_elements(name, count, shape.element.format)
            else:
                self._elements(name, count, shape.element, version, flexible, path)
        return name

    def _fixed_elements(self, name: str, count: str, format: str) -> None:
        size = FIXED_SIZES_BYTES[format]
        if format == "16s":
            self.source.add(f"{name} = [data[i:i + 16] for i in range(pos, pos + 16 * {count}, 16)]")
        else:
            self.source.add(f"{name} = list(unpack_from(f'>{{{count}}}{format}', data, pos))")
        self.source.add(f"pos += {size} * {count}")

    def _elements(self, name: str, count: str, element: Shape, version: int, flexible: bool, path: str) -> None:
        self.source.add(f"{name} = []")
        with self.source.block(f"for _ in ONCE if {count} == 1 else range({count}):"):
            made = self._value(element, version, flexible, False, path)
            self.flush()
            self.source.add(f"{name}.append({made})")

    def _tags(self, known: Sequence[Field], version: int, path: str) -> dict[str, str]:
        """Read the tagged fields: those that are known by their tags, all others by their sizes alone."""
        count = self._member("B", "tags")
        self.flush()
        names = {field.name: self.source.fresh(field.name) for field in known}
        for field in known:
            self.source.add(f"{names[field.name]} = {self._default(field)}")
        with self.source.block(f"if {count}:"):
            if not known:
                self.source.add("pos = skip_tags(data, pos - 1)")
            else:
                self._known_tags(count, known, names, version, path)
        return names

    def _known_tags(self, count: str, known: Sequence[Field], names: dict[str, str], version: int, path: str) -> None:
        source, tag, stop = self.source, self.source.fresh("tag"), self.source.fresh("stop")
        source.add(f"{count}, pos = read_uvarint(data, pos - 1)")
        with source.block(f"for _ in range({count}):"):
            source.add(f"{tag}, pos = read_uvarint(data, pos)")
            source.add(f"{stop}, pos = read_uvarint(data, pos)")
            source.add(f"{stop} += pos")
            for field in known:
                with source.block(f"if {tag} == {field.tag}:"):
                    made = self._plain(field, version, True, f"{path}.{field.name}")
                    self.flush()
                    source.add(f"{names[field.name]} = {made}")
                    source.add(
                        f"if pos != {stop}: raise Unreadable('{path}.{field.name} is not as long as its tag says')"
                    )
            source.add(f"pos = {stop}")


_UNPACKERS: dict[str, Callable[..., Any]] = {}


def _unpack(formats: str) -> Callable[..., Any]:
    """The same function for the same run, wherever it occurs."""
    return _UNPACKERS.setdefault(formats, struct.Struct(">" + formats).unpack_from)
