"""What a message is made of: structs whose annotations say how each field lies on the wire, and in which versions.

One class serves all versions of a message. A field's annotation carries a `Wire`; `fields_of` reads them once, and the
compilers of `_decoder` and `_encoder` ask each field what it is in one version. A field that a version lacks keeps its
default when decoded.
"""

import enum
import functools
import typing
from typing import Annotated, Any, ClassVar, Final, NamedTuple

import msgspec

Buffer = bytes | bytearray | memoryview
"""Records: decoded as a view of the frame, encoded from whatever the log returned."""

Uuid = bytes
"""Sixteen bytes as they come: a key of a dict, where making a `uuid.UUID` would cost more than decoding the request."""

NO_UUID: Final[Uuid] = bytes(16)
VERSION_MAX: Final = (1 << 15) - 1


class Wire(NamedTuple):
    """How a field lies on the wire, in the words of Kafka's specs: `[]int32`, `3+`, `0-9`, `none`."""

    type: str
    versions: str = "0+"
    nullable: str = "none"
    tag: int = -1
    tagged: str = "none"
    ignorable: bool = False
    """Left out silently where the version lacks it; any other value that cannot be sent is an error."""
    flexible: bool = True
    """False for the client id in request headers, which never became compact."""


class Struct(msgspec.Struct, gc=False, repr_omit_defaults=True):
    """A part of a message. The collector does not track it, which makes it cheaper; parts never form cycles."""


class ApiMessage(Struct):
    """A request, a response, a header, or a structure that travels inside one."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = VERSION_MAX
    """The first version with compact lengths and tagged fields."""


class Kind(enum.Enum):
    """The shapes a field can have."""

    FIXED = "fixed"
    STRING = "string"
    BYTES = "bytes"
    RECORDS = "records"
    STRUCT = "struct"
    ARRAY = "array"


FIXED_FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
FIXED_SIZES_BYTES: Final = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "d": 8, "16s": 16}


class Range(NamedTuple):
    """Versions from first to last; empty where last comes before first."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> "Range":
        """`none`, `3`, `0-9` or `3+`."""
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), VERSION_MAX)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last


class Shape(NamedTuple):
    """A type without regard to versions: `format` for fixed widths, `struct` for structs, `element` for arrays."""

    kind: Kind
    format: str = ""
    struct: type[Struct] | None = None
    element: "Shape | None" = None


class Field(NamedTuple):
    """One field of a struct, read from its annotation."""

    name: str
    shape: Shape
    default: Any
    versions: Range
    nullable: Range
    tag: int
    tagged: Range
    ignorable: bool
    flexible: bool

    def is_plain(self, version: int) -> bool:
        """The version has this field, in its place among the others."""
        return version in self.versions and version not in self.tagged

    def is_tagged(self, version: int) -> bool:
        """The version has this field among the tagged ones, where it may be left out."""
        return version in self.versions and version in self.tagged


@functools.cache
def fields_of(struct: type[Struct]) -> tuple[Field, ...]:
    """The fields in the order of the wire."""
    hints = typing.get_type_hints(struct, include_extras=True)
    return tuple(_field(member, hints[member.name]) for member in msgspec.structs.fields(struct))


def min_size_bytes(shape: Shape, version: int, *, flexible: bool, nullable: bool = False) -> int:
    """The fewest bytes that a value can take: what bounds an array's length by the bytes that are there."""
    match shape.kind:
        case Kind.FIXED:
            return FIXED_SIZES_BYTES[shape.format]
        case Kind.STRUCT if shape.struct is not None:
            return 1 if nullable else struct_min_size_bytes(shape.struct, version, flexible=flexible)
        case Kind.STRING:
            return 1 if flexible else 2
        case _:
            return 1 if flexible else 4


def struct_min_size_bytes(struct: type[Struct], version: int, *, flexible: bool) -> int:
    """The fewest bytes of a struct, with the count of tagged fields."""
    return flexible + sum(
        min_size_bytes(field.shape, version, flexible=flexible and field.flexible, nullable=version in field.nullable)
        for field in fields_of(struct)
        if field.is_plain(version)
    )


def _field(member: msgspec.structs.FieldInfo, hint: Any) -> Field:
    wire = _wire_of(hint)
    default = member.default if member.default_factory is msgspec.NODEFAULT else member.default_factory()
    return Field(
        name=member.name,
        shape=_shape(wire.type, hint),
        default=default,
        versions=Range.parse(wire.versions),
        nullable=Range.parse(wire.nullable),
        tag=wire.tag,
        tagged=Range.parse(wire.tagged),
        ignorable=wire.ignorable,
        flexible=wire.flexible,
    )


def _wire_of(hint: Any) -> Wire:
    wires = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Wire)]
    if typing.get_origin(hint) is not Annotated or len(wires) != 1:
        raise TypeError(f"{hint} says not how it lies on the wire; annotate it with one Wire")
    return wires[0]


def _shape(type_name: str, hint: Any) -> Shape:
    if type_name.startswith("[]"):
        return Shape(Kind.ARRAY, element=_shape(type_name[2:], hint))
    if type_name in FIXED_FORMATS:
        return Shape(Kind.FIXED, format=FIXED_FORMATS[type_name])
    if type_name[0].isupper():
        return Shape(Kind.STRUCT, struct=_struct_in(hint))
    return Shape(Kind(type_name))


def _struct_in(hint: Any) -> type[Struct]:
    """The one struct that an annotation speaks of, below its lists and unions."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return hint
    for argument in typing.get_args(hint):
        if isinstance(argument, Wire) or argument is type(None):
            continue
        return _struct_in(argument)
    raise TypeError(f"{hint} names no struct")
