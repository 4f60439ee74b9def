"""From file, environment and flags to one `Settings`. A flag beats the environment, which beats the file.

Every value keeps where it came from, so that `config show` can tell, and so that an error names the place
to correct. Nothing that a user wrote is passed over: an unknown key, section or BRAID_ variable is an error
that names the nearest known one.
"""

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from braidmq.model.errors import InvalidSetting
from braidmq.settings._keys import VARIABLE_PREFIX, Key, keys, sections
from braidmq.settings._kinds import Value
from braidmq.settings._structs import Settings

CONFIG_VARIABLE = "BRAID_CONFIG"
READY_FILE_VARIABLE = "BRAID_READY_FILE"
DEFAULT_ORIGIN = "default"

_OTHER_VARIABLES = (CONFIG_VARIABLE, READY_FILE_VARIABLE)
_FILE_BYTES_MAX = 1 << 20


class Given(NamedTuple):
    """What a user wrote for one key, and where."""

    path: str
    raw: object
    origin: str


class Loaded(NamedTuple):
    """The settings, and where each value came from, by key path."""

    settings: Settings
    origins: Mapping[str, str]


def load(
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Given] | None = None,
) -> Loaded:
    """All sources together. Raises InvalidSetting, which names the key, its origin and what is allowed."""
    given = {item.path: item for item in _from_file(file)}
    given |= {item.path: item for item in _from_environment(environment or {})}
    given |= flags or {}
    values = {path: _value(keys()[path], item) for path, item in given.items()}
    return Loaded(_settings(values), {path: _origin(given.get(path)) for path in keys()})


def flag(path: str, raw: object, origin: str) -> Given:
    """A value from the command line. Raises InvalidSetting where there is no such key."""
    if path not in keys():
        raise InvalidSetting(f"{origin}: there is no setting {path!r}{_nearest(path, keys())}")
    return Given(path, raw, origin)


def _from_file(file: Path | None) -> Iterator[Given]:
    if file is None:
        return
    for section, content in _read(file).items():
        _check_section(section, content, file)
        for name, raw in content.items():
            path = f"{section}.{name}"
            if path not in keys():
                known = [key.name for key in keys().values() if key.section == section]
                raise InvalidSetting(f"{file}: there is no key {name!r} in [{section}]{_nearest(name, known)}")
            yield Given(path, raw, str(file))


def _read(file: Path) -> dict[str, dict[str, object]]:
    try:
        with file.open("rb") as stream:
            text = stream.read(_FILE_BYTES_MAX + 1)
        if len(text) > _FILE_BYTES_MAX:
            raise InvalidSetting(f"{file}: larger than {_FILE_BYTES_MAX} bytes; this is not a settings file")
        return tomllib.loads(text.decode())
    except OSError as error:
        raise InvalidSetting(f"{file}: cannot be read: {error.strerror}; name the file with --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{file}: is not valid TOML: {error}") from error


def _check_section(section: str, content: object, file: Path) -> None:
    if section not in sections():
        raise InvalidSetting(f"{file}: there is no section [{section}]{_nearest(section, sections())}")
    if not isinstance(content, dict):
        raise InvalidSetting(f"{file}: {section} is a section; write [{section}] and its keys below")


def _from_environment(environment: Mapping[str, str]) -> Iterator[Given]:
    by_variable = {key.variable: key for key in keys().values()}
    for variable, raw in environment.items():
        if not variable.startswith(VARIABLE_PREFIX) or variable in _OTHER_VARIABLES:
            continue
        if variable not in by_variable:
            hint = _nearest(variable, [*by_variable, *_OTHER_VARIABLES])
            raise InvalidSetting(f"environment: there is no setting {variable}{hint}")
        yield Given(by_variable[variable].path, raw, f"environment {variable}")


def _value(key: Key, item: Given) -> Value:
    try:
        return key.kind.parse(item.raw)
    except ValueError:
        shown = "the value given" if key.secret else repr(item.raw)
        raise InvalidSetting(f"{item.origin}: {key.path} cannot be {shown}; it is {key.kind.allowed}") from None


def _settings(values: Mapping[str, Value]) -> Settings:
    parts = {}
    for section, struct in sections().items():
        chosen = {key.name: values[path] for path, key in keys().items() if key.section == section and path in values}
        parts[section] = struct(**chosen)
    return Settings(**parts)  # type: ignore[arg-type]  # each section's name and struct come from Settings itself


def _origin(item: Given | None) -> str:
    return DEFAULT_ORIGIN if item is None else item.origin


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else f"; known are: {', '.join(known)}"
