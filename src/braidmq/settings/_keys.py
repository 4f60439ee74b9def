"""The table of all keys, read off the structs once, for the loader, the reference page and `config show`."""

import functools
import typing
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from braidmq.settings._kinds import Kind, Value, kind_of
from braidmq.settings._secrets import HIDDEN, redact_url
from braidmq.settings._section import Section
from braidmq.settings._structs import Settings

VARIABLE_PREFIX = "BRAID_"


class Key(NamedTuple):
    """One setting. `path` is how users name it, such as `log.flush`."""

    section: str
    name: str
    kind: Kind
    default: Value
    description: str
    secret: bool
    is_hidden: bool = False
    """Whether all of it is secret."""

    @property
    def path(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return f"{VARIABLE_PREFIX}{self.section}_{self.name}".upper()

    def show(self, value: Value) -> str:
        """The value as text, without what is secret in it."""
        text = self.kind.show(value)
        if self.is_hidden:
            return HIDDEN if text else ""
        return redact_url(text) if self.secret else text


def sections() -> Mapping[str, type[Section]]:
    """The sections by name, in the order of the structs."""
    hints = typing.get_type_hints(Settings)
    return {field.name: hints[field.name] for field in msgspec.structs.fields(Settings)}


@functools.cache
def keys() -> Mapping[str, Key]:
    """Every key by its path, in the order of the structs."""
    table = {key.path: key for section, struct in sections().items() for key in _keys_of(section, struct)}
    return MappingProxyType(table)


def shown_settings(settings: Settings) -> dict[str, str]:
    """Every value as text, by its path, without what is secret in it."""
    shown = {path: key.show(getattr(getattr(settings, key.section), key.name)) for path, key in keys().items()}
    return shown | {"store.url": keys()["store.url"].show(settings.store_url)}


def _keys_of(section: str, struct: type[Section]) -> list[Key]:
    hints = typing.get_type_hints(struct, include_extras=True)
    return [_key(section, field.name, hints[field.name], field.default) for field in msgspec.structs.fields(struct)]


def _key(section: str, name: str, annotation: object, default: Value) -> Key:
    _, meta = typing.get_args(annotation)
    extra = meta.extra or {}
    secret, is_hidden = bool(extra.get("secret")), bool(extra.get("whole"))
    return Key(section, name, kind_of(name, annotation), default, meta.description, secret, is_hidden)
