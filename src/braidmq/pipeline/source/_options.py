"""The options of the source, read and checked before anything starts."""

import datetime
import re
import ssl
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from braidmq.pipeline.columns import MESSAGE
from braidmq.pipeline.errors import InvalidOption

Offsets: TypeAlias = dict[str, dict[str, int]]
"""{"topic": {"partition": next offset}}, as in a stream's checkpoint."""
Bound: TypeAlias = Literal["earliest", "latest"] | int | Offsets
"""Where reading begins or ends: a word, a time in milliseconds, or an offset for each partition."""

EARLIEST: Final = -2
LATEST: Final = -1
ROWS_PER_TASK: Final = 250_000
KAFKA_PREFIX: Final = "kafka."
_ISOLATIONS: Final = {"read_committed": True, "read_uncommitted": False}
_KNOWN: Final = {
    "bootstrap",
    "topics",
    "topicsPattern",
    "startingOffsets",
    "startingTime",
    "endingOffsets",
    "endingTime",
    "columns",
    "maxRowsPerBatch",
    "maxBytesPerBatch",
    "rowsPerTask",
    "isolation",
    "failOnDataLoss",
    "ranges",
}
_Value = TypeVar("_Value")


class Connection(msgspec.Struct, frozen=True):
    """How brokers are reached: the address to begin at, and what librdkafka's settings say."""

    bootstrap: str
    settings: dict[str, str]

    @property
    def identity(self) -> tuple[str, ...]:
        return (self.bootstrap, *(f"{name}={value}" for name, value in sorted(self.settings.items())))


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is read, from where to where, and how."""

    connection: Connection
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    starting: Bound
    ending: Bound = "latest"
    columns: tuple[str, ...]
    rows_per_batch: int | None = None
    bytes_per_batch: int | None = None
    rows_per_task: int = ROWS_PER_TASK
    read_committed: bool = True
    fail_on_data_loss: bool = True
    with_ranges: bool = False

    def for_batch(self) -> "Options":
        if self.rows_per_batch or self.bytes_per_batch:
            raise InvalidOption("maxRowsPerBatch and maxBytesPerBatch are for streams; here everything is read at once")
        return self

    def for_stream(self, given: Mapping[str, str]) -> "Options":
        lowered = {name.lower() for name in given}
        if lowered & {"endingoffsets", "endingtime"}:
            raise InvalidOption("a stream has no end: endingOffsets and endingTime are for spark.read")
        if "startingoffsets" not in lowered and "startingtime" not in lowered:
            return msgspec.structs.replace(self, starting="latest")
        return self


def read_options(given: Mapping[str, str]) -> Options:
    """Raises InvalidOption, which names the option and what it may be."""
    options = {name.lower(): value for name, value in given.items()}
    _refuse_unknown(options, _KNOWN)
    names = tuple(name.strip() for name in options.get("topics", "").split(",") if name.strip())
    pattern = options.get("topicspattern")
    if bool(names) == bool(pattern):
        raise InvalidOption("say what to read with one of the options topics (a,b,c) and topicsPattern (a regex)")
    if pattern is not None:
        _read("topicsPattern", pattern, re.compile, "a regular expression")
    columns = _columns(options.get("columns"))
    with_ranges = _flag(options, "ranges", False)
    if with_ranges and not {"protocol", "value"} <= set(columns):
        raise InvalidOption("with ranges = true, the columns protocol and value must be among columns")
    return Options(
        connection=read_connection(options, check_settings=True),
        topics=names,
        pattern=pattern,
        starting=_bound(options, "starting", "earliest"),
        ending=_bound(options, "ending", "latest"),
        columns=columns,
        rows_per_batch=_count(options, "maxRowsPerBatch"),
        bytes_per_batch=_count(options, "maxBytesPerBatch"),
        rows_per_task=_count(options, "rowsPerTask") or ROWS_PER_TASK,
        read_committed=_choice(options, "isolation", _ISOLATIONS, "read_committed"),
        fail_on_data_loss=_flag(options, "failOnDataLoss", True),
        with_ranges=with_ranges,
    )


def read_connection(options: Mapping[str, str], *, check_settings: bool) -> Connection:
    bootstrap = options.get("bootstrap", "").strip()
    if not bootstrap:
        raise InvalidOption("the option bootstrap is missing: the host:port of a node or of Kafka brokers")
    settings = {
        name.removeprefix(KAFKA_PREFIX): value for name, value in options.items() if name.startswith(KAFKA_PREFIX)
    }
    connection = Connection(bootstrap, settings)
    if check_settings:
        read_security(connection)
    return connection


def _refuse_unknown(options: Mapping[str, str], known: set[str]) -> None:
    lowered = {name.lower() for name in known}
    for name in options:
        if name not in lowered and not name.startswith(KAFKA_PREFIX):
            raise InvalidOption(f"there is no option {name}; there are {', '.join(sorted(known))} and kafka.*")


def refuse_unknown(options: Mapping[str, str], known: set[str]) -> None:
    _refuse_unknown({name.lower(): value for name, value in options.items()}, known)


def _columns(text: str | None) -> tuple[str, ...]:
    if text is None:
        return tuple(MESSAGE.names)
    chosen = {name.strip() for name in text.split(",")}
    if unknown := chosen - set(MESSAGE.names):
        raise InvalidOption(f"there is no column {', '.join(sorted(unknown))}; there are {', '.join(MESSAGE.names)}")
    return tuple(name for name in MESSAGE.names if name in chosen)


def _bound(options: Mapping[str, str], side: str, default: Literal["earliest", "latest"]) -> Bound:
    offsets, time = options.get(f"{side}offsets"), options.get(f"{side}time")
    if offsets is not None and time is not None:
        raise InvalidOption(f"{side}Offsets and {side}Time exclude each other")
    if time is not None:
        return _read(
            f"{side}Time", time, _milliseconds, "milliseconds since the epoch, or a time as ISO 8601 writes it"
        )
    if offsets is None:
        return default
    if offsets == "latest":
        return "latest"
    if offsets == "earliest":
        if side == "ending":
            raise InvalidOption("endingOffsets cannot be earliest: nothing would be read")
        return "earliest"
    return _read(f"{side}Offsets", offsets, _each_offset, 'earliest, latest or {"topic": {"0": offset}}')


def _milliseconds(text: str) -> int:
    if text.strip().lstrip("-").isdigit():
        return max(0, int(text))
    moment = datetime.datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return max(0, int(moment.timestamp() * 1000))


def _each_offset(text: str) -> Offsets:
    found = msgspec.json.decode(text, type=dict[str, dict[str, int]])
    for partitions in found.values():
        if any(not number.isdigit() for number in partitions) or any(each < EARLIEST for each in partitions.values()):
            raise ValueError
    return found


def _read(name: str, text: str, reader: Callable[[str], _Value], wanted: str) -> _Value:
    try:
        return reader(text)
    except (ValueError, OverflowError, re.error, msgspec.DecodeError) as error:
        raise InvalidOption(f"{name} is {text!r}, which is not {wanted}") from error


def _count(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name.lower())
    if text is None:
        return None
    if not text.strip().isdigit() or int(text) < 1:
        raise InvalidOption(f"{name} is {text!r}, which is not a number above zero")
    return int(text)


def _flag(options: Mapping[str, str], name: str, default: bool) -> bool:
    return _choice(options, name, {"true": True, "false": False}, str(default).lower())


def _choice(options: Mapping[str, str], name: str, choices: Mapping[str, bool], default: str) -> bool:
    text = options.get(name.lower(), default).strip().lower()
    if text not in choices:
        raise InvalidOption(f"{name} is {text!r}; it can be {' or '.join(choices)}")
    return choices[text]


_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_READ_SETTINGS: Final = {
    "client.id",
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.username",
    "sasl.password",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
    "socket.timeout.ms",
    "fetch.max.bytes",
    "max.partition.fetch.bytes",
    "fetch.wait.max.ms",
}
"""Of librdkafka's settings, those that the reader has."""


class Security(msgspec.Struct, frozen=True):
    """How a connection is made safe. `mechanism` is empty where nobody logs in."""

    client_id: str
    settings: dict[str, str]
    is_encrypted: bool
    mechanism: str = ""
    username: str = ""
    password: str = ""

    def context(self) -> ssl.SSLContext | None:
        return _ssl_context(self.settings) if self.is_encrypted else None


def read_security(connection: Connection) -> Security:
    """Raises InvalidOption for what the reader does not have."""
    settings = connection.settings
    if unknown := set(settings) - _READ_SETTINGS:
        raise InvalidOption(
            f"the source does not have kafka.{', kafka.'.join(sorted(unknown))};"
            f" it has kafka.{', kafka.'.join(sorted(_READ_SETTINGS))}"
        )
    for name in ("socket.timeout.ms", "fetch.max.bytes", "max.partition.fetch.bytes", "fetch.wait.max.ms"):
        fetch_setting(connection, name, 0)
    protocol = settings.get("security.protocol", "plaintext").upper()
    if protocol not in _PROTOCOLS:
        raise InvalidOption(f"kafka.security.protocol is {protocol}; it can be {', '.join(_PROTOCOLS)}")
    security = Security(settings.get("client.id", "braid-pipeline"), settings, protocol.endswith("SSL"))
    security.context()
    return _with_login(security, settings) if protocol.startswith("SASL") else security


def _with_login(security: Security, settings: Mapping[str, str]) -> Security:
    mechanism = (settings.get("sasl.mechanism") or settings.get("sasl.mechanisms") or "PLAIN").upper()
    if mechanism not in _MECHANISMS:
        raise InvalidOption(f"kafka.sasl.mechanism is {mechanism}; it can be {', '.join(_MECHANISMS)}")
    if not {"sasl.username", "sasl.password"} <= set(settings):
        raise InvalidOption(f"{mechanism} needs kafka.sasl.username and kafka.sasl.password")
    return msgspec.structs.replace(
        security, mechanism=mechanism, username=settings["sasl.username"], password=settings["sasl.password"]
    )


def fetch_setting(connection: Connection, name: str, default: int) -> int:
    text = connection.settings.get(name)
    return default if text is None else _read(f"{KAFKA_PREFIX}{name}", text, int, "a number")


def _ssl_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.get("ssl.ca.location"))
        if certificate := settings.get("ssl.certificate.location"):
            context.load_cert_chain(certificate, settings.get("ssl.key.location"), settings.get("ssl.key.password"))
    except (OSError, ValueError) as error:
        raise InvalidOption(f"the files of kafka.ssl.* cannot be used: {error}") from error
    if settings.get("ssl.endpoint.identification.algorithm", "https").lower() in {"none", ""}:
        context.check_hostname = False
    if settings.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
