"""Every setting of a node: what it is called, what it may be, and what it is when nobody says.

A section of the file is a struct, and a key is a field. To add a key, add a field with a `Meta` that describes it:
flags, environment variables, checks and the reference page follow from it. A field's name ends with its unit
(`_bytes`, `_ms`, `_s`), and that lets users write `32MiB` or `500ms`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from braidmq.protocols.listener import Address, Endpoint
from braidmq.settings._operations import AlarmsSettings, AuditSettings, InspectionSettings
from braidmq.settings._section import MIB, SECRET, Section

STORE_FILE_NAME = "store.sqlite"


class NodeSettings(Section, frozen=True):
    """This node, and where it keeps its data."""

    name: Annotated[
        str,
        Meta(description="What this node calls itself, in metrics and over HTTP.", pattern=r"^[A-Za-z0-9._-]{1,64}$"),
    ] = "node-1"
    data: Annotated[
        Path, Meta(description="The folder that holds everything a node keeps. Made when it does not exist.")
    ] = Path("braid-data")
    drain_ms: Annotated[
        int,
        Meta(
            description="How long requests under way may go on once the node is told to stop.",
            ge=0,
            le=60_000,
        ),
    ] = 1_000


class LogSettings(Section, frozen=True):
    """The durable log."""

    flush: Annotated[
        Literal["commit", "interval"],
        Meta(
            description="When a message counts as kept: `commit` once it is on the disk, `interval` once the"
            " system has it, with a sync from time to time."
        ),
    ] = "commit"
    flush_interval_ms: Annotated[int, Meta(description='How often `flush = "interval"` syncs.', ge=1, le=60_000)] = (
        1_000
    )
    segment_bytes: Annotated[
        int, Meta(description="How large one file of a partition grows.", ge=MIB, le=1024 * MIB)
    ] = 1024 * MIB
    journal_file_bytes: Annotated[
        int, Meta(description="How large one file of the journal grows.", ge=MIB, le=1024 * MIB)
    ] = 32 * MIB
    open_files_max: Annotated[
        int, Meta(description="How many files of the log are open at the same time.", ge=16, le=1_000_000)
    ] = 2_000
    maintenance_interval_s: Annotated[
        int, Meta(description="How often retention and compaction are applied.", ge=1, le=86_400)
    ] = 60


class StoreSettings(Section, frozen=True):
    """The database with topics, groups, accounts and other small things."""

    url: Annotated[
        str,
        Meta(
            description="The database's address, such as `postgresql://user:password@host/name`."
            f" Empty means the SQLite file `{STORE_FILE_NAME}` in the data folder.",
            extra=SECRET,
        ),
    ] = ""


class HttpSettings(Section, frozen=True):
    """The HTTP interface: health, metrics and the OpenAPI."""

    listen: Annotated[
        Address | None, Meta(description="Where HTTP listens; `off` turns it off. Port 0 takes any free one.")
    ] = Address("127.0.0.1", 8400)
    body_bytes_max: Annotated[
        int, Meta(description="The largest request body that is taken.", ge=1024, le=64 * MIB)
    ] = 8 * MIB
    connections_max: Annotated[
        int,
        Meta(
            description="How many connections are served at the same time; more are answered with 503.",
            ge=1,
            le=100_000,
        ),
    ] = 1_000
    console: Annotated[
        Literal["on", "off"],
        Meta(
            description="Whether the web console is served under `/console`. Without accounts it is only there where "
            "HTTP listens on a loopback address, and asks for the token that `braid up` prints."
        ),
    ] = "on"
    waiting_max: Annotated[
        int,
        Meta(
            description="How many requests may wait for messages at the same time; more are answered with 429.",
            ge=1,
            le=100_000,
        ),
    ] = 500


class TopicsSettings(Section, frozen=True):
    """What a topic is like when nobody says."""

    auto_create: Annotated[
        Literal["on", "off"], Meta(description="Whether a topic is made when a client first names it.")
    ] = "on"
    partitions: Annotated[int, Meta(description="How many partitions a new topic has.", ge=1, le=10_000)] = 4


class LiteSettings(Section, frozen=True):
    """Lite topics: thousands of small queues under one topic, made by their first message."""

    topics_max: Annotated[
        int, Meta(description="How many lite topics one topic may have at a time.", ge=1, le=1_000_000)
    ] = 10_000
    subscriptions_max: Annotated[
        int, Meta(description="How many lite topics one consumer may subscribe to.", ge=1, le=100_000)
    ] = 2_000
    check_interval_s: Annotated[
        int,
        Meta(description="How often is looked for lite topics whose time without messages is over.", ge=1, le=86_400),
    ] = 60


class ArchiveSettings(Section, frozen=True):
    """The archive of messages, which the pipeline makes."""

    default: Annotated[
        Literal["off", "on", "required"],
        Meta(
            description="Whether topics that do not say (`braid.archive`) are archived. With `required`, nothing goes"
            " from the log before it is in the archive: where the pipeline does not run, the disk fills up."
        ),
    ] = "off"
    folder: Annotated[
        str,
        Meta(
            description="The pipeline's folder of tables, where the node finds the archive and reports."
            " Empty means the folder `pipeline` in the data folder."
        ),
    ] = ""


class TimersSettings(Section, frozen=True):
    """Delayed messages."""

    delay_max_s: Annotated[
        int,
        Meta(
            description="How far ahead a message's time may be; more is refused. All of them wait in the store.",
            ge=1,
            le=366 * 86_400,
        ),
    ] = 40 * 86_400


class HalvesSettings(Section, frozen=True):
    """Half messages: those that count only when their producer says so."""

    immunity_s: Annotated[
        int, Meta(description="How long a producer that says nothing is not asked.", ge=1, le=86_400)
    ] = 6
    check_interval_s: Annotated[
        int,
        Meta(description="How long after a question without an answer another is asked.", ge=1, le=86_400),
    ] = 30
    checks_max: Annotated[
        int,
        Meta(description="How often producers are asked; then the message waits for an operator.", ge=1, le=1_000),
    ] = 15
    unheard_max_s: Annotated[
        int,
        Meta(
            description="How long a message waits for a producer of its group to come back; then for an operator.",
            ge=1,
            le=366 * 86_400,
        ),
    ] = 86_400
    remember_s: Annotated[
        int,
        Meta(description="How long an end is known, so that saying it again does no harm.", ge=1, le=30 * 86_400),
    ] = 600


class GroupsSettings(Section, frozen=True):
    """Groups of consumers, whatever they speak."""

    lock_lease_s: Annotated[
        int,
        Meta(
            description="How long a consumer that reads in order keeps a partition without asking for it again: so long"
            " its partitions rest when it dies. RocketMQ's clients ask every 20 s.",
            ge=1,
            le=3_600,
        ),
    ] = 60


class TraceSettings(Section, frozen=True):
    """What happened to messages, step by step."""

    events: Annotated[
        Literal["on", "off"],
        Meta(
            description="Whether the node takes note of what happens to messages: delayed, delivered, acknowledged,"
            " retried and so on. Notes are dropped rather than that a message waits for them."
        ),
    ] = "on"
    keep_s: Annotated[int, Meta(description="How long notes are kept.", ge=1, le=366 * 86_400)] = 3 * 86_400


class TelemetrySettings(Section, frozen=True):
    """What the node tells of itself, for those who keep history."""

    topics: Annotated[
        Literal["on", "off"],
        Meta(
            description="Whether the node writes what came and went, how far groups are and what became of messages"
            " into topics of its own (`__braid.usage`, `__braid.lag`, `__braid.trace`; one partition each, kept for"
            " three days). The pipeline's reports are made of them."
        ),
    ] = "on"


class QuerySettings(Section, frozen=True):
    """Finding messages by id and key."""

    index: Annotated[
        Literal["on", "off"],
        Meta(
            description="Whether an index of ids and keys is kept, in the data folder. Without it, messages are found"
            " by place and by time only."
        ),
    ] = "on"
    memory_bytes: Annotated[
        int,
        Meta(description="How much of the index is in memory before it is written to files.", ge=MIB, le=4096 * MIB),
    ] = 16 * MIB
    share_percent: Annotated[
        int,
        Meta(
            description="How much of the node's time indexing may take; under more load it falls behind, and catches"
            " up later. A question that waits for the index makes it hurry.",
            ge=1,
            le=90,
        ),
    ] = 5


class CursorSettings(Section, frozen=True):
    """Messages that are taken and acknowledged one by one."""

    open_max: Annotated[
        int,
        Meta(
            description="How many messages of a group may be with its receivers, or wait for their turn, at a time. A"
            " group that has so many is given no new ones until it answers.",
            ge=1,
            le=10_000_000,
        ),
    ] = 100_000
    waiting_max: Annotated[
        int, Meta(description="How many receivers may wait for messages at a time.", ge=1, le=1_000_000)
    ] = 20_000


class KafkaSettings(Section, frozen=True):
    """The Kafka protocol."""

    listen: Annotated[
        tuple[Endpoint, ...],
        Meta(
            description="Where Kafka clients connect: one address or several with commas between them; `off` turns it"
            " off. Clients that reach an address by another one (a port of Docker, NAT) must be told that:"
            " `0.0.0.0:9092 as broker.example:9092`. Without it, clients are told the address by which they came."
        ),
    ] = (Endpoint(Address("127.0.0.1", 9092)),)
    node_id: Annotated[int, Meta(description="This node's number among Kafka's brokers.", ge=0, le=1_000_000)] = 1
    request_bytes_max: Annotated[
        int, Meta(description="The largest request that is taken.", ge=1024, le=1024 * MIB)
    ] = 100 * MIB
    buffer_bytes_max: Annotated[
        int,
        Meta(
            description="How much of all clients' requests may lie in memory: being worked on, and again as much that"
            " has not arrived whole.",
            ge=MIB,
            le=64 * 1024 * MIB,
        ),
    ] = 256 * MIB
    connections_max: Annotated[
        int, Meta(description="How many clients may be connected; more are closed at once.", ge=1, le=1_000_000)
    ] = 20_000
    idle_s: Annotated[
        int, Meta(description="A client that is silent for so long is disconnected.", ge=1, le=86_400)
    ] = 600
    group_initial_delay_ms: Annotated[
        int,
        Meta(
            description="How long an empty group waits for more members when its first has come, so that members who"
            " start together share one generation. Apache Kafka waits 3s.",
            ge=0,
            le=300_000,
        ),
    ] = 100
    group_session_min_ms: Annotated[
        int, Meta(description="The shortest session timeout that a group's member may ask for.", ge=1, le=3_600_000)
    ] = 6_000
    group_session_max_ms: Annotated[
        int, Meta(description="The longest session timeout that a group's member may ask for.", ge=1, le=86_400_000)
    ] = 1_800_000
    group_heartbeat_ms: Annotated[
        int,
        Meta(
            description="How often members of a group that is assigned to by the node (`group.protocol=consumer`) say"
            " that they live.",
            ge=1,
            le=3_600_000,
        ),
    ] = 5_000
    group_session_ms: Annotated[
        int, Meta(description="How long such a member may be silent before it is out.", ge=1, le=86_400_000)
    ] = 45_000
    group_members_max: Annotated[
        int, Meta(description="How many members a group may have; more are refused.", ge=1, le=1_000_000)
    ] = 100_000
    group_migration: Annotated[
        Literal["bidirectional", "upgrade", "downgrade", "disabled"],
        Meta(
            description="Whether a group's clients may be changed one by one from `group.protocol=classic` to"
            " `consumer` (upgrade), and back (downgrade). Apache Kafka calls it `group.consumer.migration.policy`."
        ),
    ] = "bidirectional"
    offsets_retention_s: Annotated[
        int,
        Meta(
            description="How long committed offsets are kept once their group has no members, or, in a group without"
            " members at any time, since they were committed.",
            ge=1,
            le=10 * 365 * 86_400,
        ),
    ] = 7 * 86_400
    transaction_timeout_max_ms: Annotated[
        int,
        Meta(
            description="How long a producer may ask its transactions to stay open; longer is refused.",
            ge=1,
            le=86_400_000,
        ),
    ] = 900_000
    transactional_id_expiry_s: Annotated[
        int,
        Meta(description="A transactional id that is not used for so long is forgotten.", ge=1, le=31_536_000),
    ] = 604_800


class PublishSettings(Section, frozen=True):
    """Messages that come one by one, as RocketMQ's do."""

    body_bytes_max: Annotated[
        int, Meta(description="How large the body of a message may be.", ge=1024, le=64 * MIB)
    ] = 4 * MIB
    deferred_bytes_max: Annotated[
        int,
        Meta(
            description="The same for messages that wait in the store: delayed and transactional ones.",
            ge=1024,
            le=64 * MIB,
        ),
    ] = 64 * 1024


class RocketMQSettings(Section, frozen=True):
    """The RocketMQ protocol (remoting): name server and broker."""

    listen: Annotated[
        tuple[Endpoint, ...],
        Meta(
            description="What RocketMQ clients are given as the name server: one address or several with commas"
            " between them; `off` turns RocketMQ off. The broker is there, too. `0.0.0.0:9876 as mq.example:9876`"
            " tells clients another address."
        ),
    ] = (Endpoint(Address("127.0.0.1", 9876)),)
    broker_listen: Annotated[
        tuple[Endpoint, ...],
        Meta(
            description="Addresses of the broker of their own, such as `127.0.0.1:10911`: clients that asked for a"
            " route are sent there. `off` leaves everything on one port."
        ),
    ] = ()
    vip: Annotated[
        Literal["on", "off"],
        Meta(
            description="Whether the broker listens two ports lower, too, for clients that use the VIP channel."
            " Not where the system chooses the port."
        ),
    ] = "on"
    cluster: Annotated[str, Meta(description="The cluster's name in routes.", pattern=r"^[%|a-zA-Z0-9_-]{1,127}$")] = (
        "DefaultCluster"
    )
    broker: Annotated[
        str,
        Meta(
            description="This node's name among the brokers; empty means the node's name.",
            pattern=r"^[%|a-zA-Z0-9_-]{0,127}$",
        ),
    ] = ""
    pull_messages_max: Annotated[
        int,
        Meta(
            description="The most messages that one pull brings, whatever its client asks for. As RocketMQ has it.",
            ge=1,
            le=1024,
        ),
    ] = 32
    default_queues: Annotated[
        int,
        Meta(
            description="The most queues that a topic gets which a RocketMQ client makes by sending to it. It gets as"
            " many as its client asks for, which is 4 where nobody says, and never more than these.",
            ge=1,
            le=1_000,
        ),
    ] = 8
    new_group_from_start: Annotated[
        Literal["on", "off"],
        Meta(
            description="Whether a group that is new to a queue begins at the queue's first message while it still has"
            " that one and is small, whatever the group asks for. RocketMQ does the same."
        ),
    ] = "on"
    request_bytes_max: Annotated[
        int, Meta(description="The largest request that is taken.", ge=1024, le=1024 * MIB)
    ] = 16 * MIB
    buffer_bytes_max: Annotated[
        int,
        Meta(
            description="How much of all clients' requests may lie in memory: being worked on, and again as much that"
            " has not arrived whole.",
            ge=MIB,
            le=64 * 1024 * MIB,
        ),
    ] = 256 * MIB
    connections_max: Annotated[
        int, Meta(description="How many clients may be connected; more are closed at once.", ge=1, le=1_000_000)
    ] = 20_000
    idle_s: Annotated[
        int, Meta(description="A client that is silent for so long is disconnected.", ge=1, le=86_400)
    ] = 120


class RocketMQGrpcSettings(Section, frozen=True):
    """The RocketMQ protocol over gRPC, for RocketMQ 5 clients."""

    listen: Annotated[
        tuple[Endpoint, ...],
        Meta(
            description="Where RocketMQ 5 clients connect, with TLS and without: one address or several with commas"
            " between them; `off` turns gRPC off. `0.0.0.0:8081 as mq.example:8081` tells clients another address."
        ),
    ] = (Endpoint(Address("127.0.0.1", 8081)),)
    tls: Annotated[
        Literal["on", "off"],
        Meta(
            description="Whether connections with TLS are taken, too. Java clients use TLS unless they are told not to."
        ),
    ] = "on"
    certificate: Annotated[
        str,
        Meta(
            description="A PEM file with the key and the certificates that clients are shown. Without one, the node"
            " makes its own, which clients take that check nothing."
        ),
    ] = ""
    auto_create: Annotated[
        Literal["on", "off"],
        Meta(
            description="Whether a topic that there is not is made when a client asks for its route. Off, as with"
            " RocketMQ 5, whose clients are told at their start that a topic is missing."
        ),
    ] = "off"
    request_bytes_max: Annotated[
        int, Meta(description="The largest request that is taken.", ge=1024, le=1024 * MIB)
    ] = 8 * MIB
    connections_max: Annotated[
        int, Meta(description="How many clients may be connected; more are closed at once.", ge=1, le=1_000_000)
    ] = 20_000
    calls_max: Annotated[
        int, Meta(description="How many calls may be under way; more are refused.", ge=1, le=1_000_000)
    ] = 50_000
    buffer_bytes_max: Annotated[
        int,
        Meta(
            description="How much of requests that have not arrived whole may lie in memory, over all clients.",
            ge=MIB,
            le=64 * 1024 * MIB,
        ),
    ] = 256 * MIB


class LoggingSettings(Section, frozen=True):
    """What the node says about itself on its error output."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The least important line that is written."),
    ] = "warning"
    format: Annotated[
        Literal["console", "json"], Meta(description="Lines for people, or one JSON object for each line.")
    ] = "console"


class Settings(Section, frozen=True):
    """All sections. A listener is offered to users by adding its section here."""

    node: NodeSettings = NodeSettings()
    log: LogSettings = LogSettings()
    store: StoreSettings = StoreSettings()
    topics: TopicsSettings = TopicsSettings()
    timers: TimersSettings = TimersSettings()
    halves: HalvesSettings = HalvesSettings()
    groups: GroupsSettings = GroupsSettings()
    trace: TraceSettings = TraceSettings()
    query: QuerySettings = QuerySettings()
    cursors: CursorSettings = CursorSettings()
    lite: LiteSettings = LiteSettings()
    archive: ArchiveSettings = ArchiveSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    alarms: AlarmsSettings = AlarmsSettings()
    inspection: InspectionSettings = InspectionSettings()
    audit: AuditSettings = AuditSettings()
    http: HttpSettings = HttpSettings()
    publish: PublishSettings = PublishSettings()
    kafka: KafkaSettings = KafkaSettings()
    rocketmq: RocketMQSettings = RocketMQSettings()
    rocketmq_grpc: RocketMQGrpcSettings = RocketMQGrpcSettings()
    logging: LoggingSettings = LoggingSettings()

    @property
    def listen(self) -> Mapping[str, tuple[Address, ...]]:
        """Where each listener that is turned on is to listen, by its section."""
        http = () if self.http.listen is None else (self.http.listen,)
        rocketmq = (*self.rocketmq.listen, *self.rocketmq.broker_listen) if self.rocketmq.listen else ()
        chosen = {
            "http": http,
            "kafka": tuple(endpoint.listen for endpoint in self.kafka.listen),
            "rocketmq": tuple(endpoint.listen for endpoint in rocketmq),
            "rocketmq_grpc": tuple(endpoint.listen for endpoint in self.rocketmq_grpc.listen),
        }
        return {name: addresses for name, addresses in chosen.items() if addresses}

    @property
    def store_url(self) -> str:
        """The database's address, with the default that depends on the data folder."""
        return self.store.url or f"sqlite:///{(self.node.data / STORE_FILE_NAME).absolute()}"
