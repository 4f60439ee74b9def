"""Writes the generated part of the Kafka codec: message classes, the table of APIs and the table of error codes.

    tools/generate_kafka_codec.py                                   # fetches the jars by Maven, once
    tools/generate_kafka_codec.py --old A.jar --new B.jar --logging C.jar

`kafka_specs` reads and merges the specs; this file turns each API into one module of annotated structs. Names, types
and versions are taken over, descriptions are not. Error codes are asked of the new jar's own enum, by a little Java.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from kafka_specs import Spec, Versions, merge_specs, read_specs, snake

OLD, NEW, LOGGING = "3.9.1", "4.4.0", "1.7.36"
OUTPUT = Path(__file__).resolve().parent.parent / "src/braidmq/protocols/kafka/codec"
PACKAGE = "braidmq.protocols.kafka.codec"

PYTHON_TYPES = {
    "bool": "bool",
    "int8": "int",
    "int16": "int",
    "uint16": "int",
    "int32": "int",
    "uint32": "int",
    "int64": "int",
    "float64": "float",
    "uuid": "Uuid",
    "string": "str",
    "bytes": "bytes",
    "records": "Buffer",
}
ZEROS = {"bool": "False", "float64": "0.0", "uuid": "NO_UUID", "string": '""', "bytes": 'b""', "records": 'b""'}

ERRORS_PROGRAM = """
public class ErrorCodes {
    public static void main(String[] arguments) {
        for (var error : org.apache.kafka.common.protocol.Errors.values()) {
            var retriable = error.exception() instanceof org.apache.kafka.common.errors.RetriableException;
            System.out.println(error.name() + " " + error.code() + " " + retriable);
        }
    }
}
"""


class Jars(NamedTuple):
    """Where the truth lies."""

    old: Path
    new: Path
    logging: Path

    def said(self) -> str:
        """What every generated file says of itself."""
        return f"Made by tools/generate_kafka_codec.py from {self.old.stem} and {self.new.stem}; do not edit."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help=f"kafka-clients {OLD}, the last with every old version")
    parser.add_argument("--new", type=Path, help=f"kafka-clients {NEW}")
    parser.add_argument("--logging", type=Path, help=f"slf4j-api {LOGGING}, which the enum of errors needs to load")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the folder of the codec")
    options = parser.parse_args()
    generate(fetched_jars(options.old, options.new, options.logging), options.output)
    return 0


def fetched_jars(old: Path | None = None, new: Path | None = None, logging: Path | None = None) -> Jars:
    """The jars that were given; the others come by Maven."""
    return Jars(
        old or fetched("org.apache.kafka", "kafka-clients", OLD),
        new or fetched("org.apache.kafka", "kafka-clients", NEW),
        logging or fetched("org.slf4j", "slf4j-api", LOGGING),
    )


def fetched(group: str, name: str, version: str) -> Path:
    """The jar in the cache; Maven brings it there on first use."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "braidmq" / "jars"
    jar = folder / f"{name}-{version}.jar"
    if jar.exists():
        return jar
    folder.mkdir(parents=True, exist_ok=True)
    # Moved into place when whole, so that who comes at the same time never sees half a jar.
    with tempfile.TemporaryDirectory(dir=folder) as inbox:
        coordinates = f"-Dartifact={group}:{name}:{version}"
        command = ["mvn", "-q", "-B", "dependency:copy", coordinates, f"-DoutputDirectory={inbox}"]
        subprocess.run(command, check=True, stdout=sys.stderr, cwd=inbox)
        (Path(inbox) / jar.name).replace(jar)
    return jar


def generate(jars: Jars, output: Path) -> None:
    """Write all generated files, formatted, and remove those of APIs that are no more."""
    specs = merge_specs(read_specs(jars.old), read_specs(jars.new))
    made = jars.said()
    files = {f"messages/{module}.py": module_text(module, group, made) for module, group in by_module(specs).items()}
    files["messages/__init__.py"] = f'"""Kafka\'s messages, one module for each API.\n\n{made}\n"""\n'
    files["_apis.py"] = apis_text(specs, made)
    files["error_codes.py"] = errors_text(error_codes(jars), made)
    (output / "messages").mkdir(parents=True, exist_ok=True)
    for stale in (output / "messages").glob("*.py"):
        stale.unlink()
    for name, text in files.items():
        (output / name).write_text(text)
    config = Path(__file__).resolve().parent.parent / "pyproject.toml"
    ruff = [sys.executable, "-m", "ruff", "format", "--quiet", "--config", str(config)]
    subprocess.run([*ruff, *(str(output / name) for name in files)], check=True)


def by_module(specs: list[Spec]) -> dict[str, list[Spec]]:
    """Request and response of an API share a module; so do the headers, and the parts of the consumer protocol."""
    modules: dict[str, list[Spec]] = {}
    for spec in specs:
        modules.setdefault(module_of(spec), []).append(spec)
    return {module: sorted(group, key=lambda spec: str(spec["name"])) for module, group in sorted(modules.items())}


def module_of(spec: Spec) -> str:
    match spec["type"]:
        case "header":
            return "headers"
        case "data":
            return "consumer_protocol"
        case kind:
            return snake(str(spec["name"]).removesuffix(kind.title()))


def module_text(module: str, specs: list[Spec], made: str) -> str:
    body = "\n\n".join(message_text(spec) for spec in specs)
    key = specs[0].get("apiKey")
    title = module.replace("_", " ").capitalize() + ("" if key is None else f", API key {key}")
    names = [name for name in ("NO_UUID", "ApiMessage", "Buffer", "Struct", "Uuid", "Wire") if name in body]
    plain = [] if "msgspec.field" not in body else ["import msgspec", ""]
    annotated = ["from typing import Annotated", ""] if "Annotated[" in body else []
    lines = [f'"""{title}.', "", made, '"""', "", "from __future__ import annotations", ""]
    lines += [*annotated, *plain, f"from {PACKAGE}._schema import {', '.join(names)}", "", ""]
    return "\n".join(lines) + body


def message_text(spec: Spec) -> str:
    """The class of a message, with the classes of its structs inside, as Kafka itself nests them."""
    name, valid = spec["name"], Versions.parse(spec["validVersions"])
    flexible = Versions.parse(spec.get("flexibleVersions", "none"))
    lines = [f"class {name}(ApiMessage):", f'    """Versions {valid.first} to {valid.last}."""', ""]
    if "apiKey" in spec:
        lines.append(f"    API_KEY = {spec['apiKey']}")
    lines.append(f"    VERSIONS = ({valid.first}, {valid.last})")
    if flexible.last >= valid.first:
        lines.append(f"    FLEXIBLE_SINCE = {flexible.first}")
    for struct_name, fields in structs_of(spec).items():
        lines += ["", f"    class {struct_name}(Struct):"]
        lines += [f"        {line}" for line in fields_text(name, fields) or ["pass"]]
    lines += ["", *(f"    {line}" for line in fields_text(name, spec["fields"]))]
    return "\n".join(lines) + "\n"


def structs_of(spec: Spec) -> dict[str, list[Spec]]:
    """Every struct of a message by name, those that others refer to first."""
    structs: dict[str, list[Spec]] = {}

    def collect(fields: list[Spec]) -> None:
        for field in fields:
            if "fields" in field:
                collect(field["fields"])
                structs[field["type"].removeprefix("[]")] = field["fields"]

    for struct in spec.get("commonStructs", []):
        collect(struct["fields"])
        structs[struct["name"]] = struct["fields"]
    collect(spec["fields"])
    return structs


def fields_text(message: str, fields: list[Spec]) -> list[str]:
    return [
        f"{snake(field['name'])}: Annotated[{python_type(message, field)}, {wire(field)}] = {default(message, field)}"
        for field in fields
    ]


def python_type(message: str, field: Spec) -> str:
    element = field["type"].removeprefix("[]")
    plain = PYTHON_TYPES.get(element, f"{message}.{element}")
    if field["type"].startswith("[]"):
        plain = f"list[{plain}]"
    return f"{plain} | None" if "nullableVersions" in field or is_optional_struct(field) else plain


def is_optional_struct(field: Spec) -> bool:
    """A tagged struct that is absent is None here, so that none need be made for every partition of every answer."""
    return "taggedVersions" in field and field["type"][0].isupper()


def wire(field: Spec) -> str:
    if is_optional_struct(field) and "nullableVersions" in field:
        raise NotImplementedError(
            f"{field['name']}: a tagged struct that can be null needs a way to say which is meant"
        )
    parts = [json.dumps(field["type"])]
    if field["versions"] != "0+":
        parts.append(json.dumps(field["versions"]))
    if "nullableVersions" in field:
        parts.append(f"nullable={json.dumps(field['nullableVersions'])}")
    if "taggedVersions" in field:
        parts.append(f"tag={int(field['tag'])}, tagged={json.dumps(field['taggedVersions'])}")
    if field.get("ignorable"):
        parts.append("ignorable=True")
    if field.get("flexibleVersions") == "none":
        parts.append("flexible=False")
    return f"Wire({', '.join(parts)})"


def default(message: str, field: Spec) -> str:
    kind, given = field["type"], field.get("default")
    if is_optional_struct(field) or given == "null":
        return "None"
    if kind.startswith("[]"):
        return "[]"
    if kind[0].isupper():
        return f"msgspec.field(default_factory=lambda: {message}.{kind}())"
    if given is None:
        return ZEROS.get(kind, "0")
    if kind == "bool":
        return str(str(given).lower() == "true")
    return json.dumps(given) if kind == "string" else str(int(str(given), 0))


def apis_text(specs: list[Spec], made: str) -> str:
    requests = sorted((spec for spec in specs if spec["type"] == "request"), key=lambda spec: int(spec["apiKey"]))
    keys = "\n".join(f"    {snake(api_name(spec)).upper()} = {spec['apiKey']}" for spec in requests)
    rows = "\n".join(f"        {api_row(spec)}," for spec in requests)
    return f'''"""Every API by its key: its name, and the versions that this codec reads and writes.

{made}
"""

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple

from {PACKAGE}._schema import VERSION_MAX


class ApiKey(enum.IntEnum):
    """The numbers under which requests are known."""

{keys}


class Api(NamedTuple):
    """One API. `module` is where its messages are, `stable_max` the newest version that Kafka itself exposes."""

    key: ApiKey
    name: str
    module: str
    version_min: int
    version_max: int
    stable_max: int
    flexible_since: int


APIS: Final[Mapping[int, Api]] = {{
    api.key: api
    for api in (
{rows}
    )
}}
'''


def api_name(spec: Spec) -> str:
    return str(spec["name"]).removesuffix("Request")


def api_row(spec: Spec) -> str:
    name, valid = api_name(spec), Versions.parse(spec["validVersions"])
    flexible = Versions.parse(spec["flexibleVersions"])
    since = "VERSION_MAX" if flexible.last < 0 else flexible.first
    stable = valid.last - bool(spec.get("latestVersionUnstable"))
    module = module_of(spec)
    return f'Api(ApiKey.{module.upper()}, "{name}", "{module}", {valid.first}, {valid.last}, {stable}, {since})'


class ErrorCode(NamedTuple):
    """One entry of Kafka's enum of errors."""

    name: str
    number: int
    retriable: bool


def error_codes(jars: Jars) -> list[ErrorCode]:
    """What the new jar's own enum says."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "ErrorCodes.java"
        source.write_text(ERRORS_PROGRAM)
        classpath = os.pathsep.join((str(jars.new), str(jars.logging)))
        command = ["java", "-cp", classpath, str(source)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [ErrorCode(name, int(number), retriable == "true") for name, number, retriable in rows]


def errors_text(errors: list[ErrorCode], made: str) -> str:
    members = "\n".join(
        f"    {error.name} = {error.number}" for error in sorted(errors, key=lambda error: error.number)
    )
    retriable = "\n".join(f"        ErrorCode.{error.name}," for error in errors if error.retriable)
    return f'''"""The numbers that responses carry, and which of them tell a client to try again.

{made}
"""

import enum
from typing import Final


class ErrorCode(enum.IntEnum):
    """Kafka's error codes by Kafka's names."""

{members}

    @property
    def retriable(self) -> bool:
        """The same request may succeed later without any change by the client."""
        return self in _RETRIABLE


_RETRIABLE: Final = frozenset(
    {{
{retriable}
    }}
)
'''


if __name__ == "__main__":
    sys.exit(main())
