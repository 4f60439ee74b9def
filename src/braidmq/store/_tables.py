"""The tables as the newest migration leaves them; a test holds the two equal on both databases.

One idea: `counters` holds numbers that only grow. `catalog_revision` is raised by every change of the
catalog, as the first statement of its transaction, so that its row is the lock that puts all changes, of all
nodes, into one order. `partition_number` is the next partition's number, `producer_id` the next producer's; a
number that was given is never given again.
"""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from braidmq.model import DEFAULT_INSTANCE

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

CATALOG_REVISION = "catalog_revision"
PARTITION_NUMBER = "partition_number"
PRODUCER_ID = "producer_id"

counters = sa.Table(
    "counters",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
)

catalog_changes = sa.Table(
    "catalog_changes",
    metadata,
    sa.Column("revision", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    # What the thing is found by, as a list of texts.
    sa.Column("key", sa.JSON, nullable=False),
)

instances = sa.Table(
    "instances",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("description", sa.Text, nullable=False),
)

topics = sa.Table(
    "topics",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("instance", sa.Text, sa.ForeignKey("instances.name"), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    # The name with every dot as an underscore; NULL once deletion has begun, which frees the name.
    sa.Column("claimed_name", sa.Text),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("retention_ms", sa.BigInteger, nullable=False),
    sa.Column("retention_bytes", sa.BigInteger, nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
    sa.Column("deleting", sa.Boolean, nullable=False),
    sa.UniqueConstraint("instance", "claimed_name"),
)

partitions = sa.Table(
    "partitions",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("topic_id", sa.Uuid, sa.ForeignKey("topics.id", ondelete="CASCADE"), nullable=False),
    sa.Column("index", sa.Integer, nullable=False),
    sa.UniqueConstraint("topic_id", "index"),
)

groups = sa.Table(
    "groups",
    metadata,
    sa.Column("instance", sa.Text, sa.ForeignKey("instances.name"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("broadcast", sa.Boolean, nullable=False),
    sa.Column("ordered", sa.Boolean, nullable=False),
    sa.Column("attempts_max", sa.Integer, nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
)

subscriptions = sa.Table(
    "subscriptions",
    metadata,
    sa.Column("instance", sa.Text, primary_key=True),
    sa.Column("group", sa.Text, primary_key=True),
    sa.Column("topic", sa.Text, primary_key=True),
    sa.Column("event_code", sa.Text, primary_key=True),
    sa.Column("filter_kind", sa.Text, nullable=False),
    sa.Column("expression", sa.Text, nullable=False),
    sa.ForeignKeyConstraint(["instance", "group"], ["groups.instance", "groups.name"]),
)

settings = sa.Table(
    "settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("changed_by", sa.Text, nullable=False),
    sa.Column("changed_ms", sa.BigInteger, nullable=False),
)

# What clients are limited to. Each of the three parts is empty, or `*` for all who have none of their own, or `=NAME`.
quotas = sa.Table(
    "quotas",
    metadata,
    sa.Column("user", sa.Text, primary_key=True),
    sa.Column("client", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, primary_key=True),
    # Numbers, by the names of what they limit.
    sa.Column("limits", sa.JSON, nullable=False),
)

scram_credentials = sa.Table(
    "scram_credentials",
    metadata,
    sa.Column("user", sa.Text, primary_key=True),
    sa.Column("mechanism", sa.Text, primary_key=True),
    sa.Column("iterations", sa.Integer, nullable=False),
    sa.Column("salt", sa.LargeBinary, nullable=False),
    sa.Column("stored_key", sa.LargeBinary, nullable=False),
    sa.Column("server_key", sa.LargeBinary, nullable=False),
)

transactions = sa.Table(
    "transactions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("producer_id", sa.BigInteger, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("timeout_ms", sa.BigInteger, nullable=False),
    # Partition numbers and group names, as lists.
    sa.Column("partitions", sa.JSON, nullable=False),
    sa.Column("groups", sa.JSON, nullable=False),
    sa.Column("last_epoch", sa.Integer, nullable=False),
    sa.Column("previous_producer_id", sa.BigInteger, nullable=False),
    sa.Column("next_producer_id", sa.BigInteger, nullable=False),
    sa.Column("bumps_epoch", sa.Boolean, nullable=False),
    sa.Column("started_ms", sa.BigInteger, nullable=False),
    sa.Column("changed_ms", sa.BigInteger, nullable=False),
)

# What a group remembers of its members, in the words of core; names are bytes, because clients' text may be any text.
group_rows = sa.Table(
    "group_rows",
    metadata,
    sa.Column("group", sa.LargeBinary, primary_key=True),
    sa.Column("key", sa.LargeBinary, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

# Offsets that groups committed in transactions which have not ended.
group_pending_offsets = sa.Table(
    "group_pending_offsets",
    metadata,
    sa.Column("producer_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("group", sa.LargeBinary, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("offset", sa.BigInteger, nullable=False),
    sa.Column("metadata", sa.LargeBinary, nullable=False),
    sa.Column("leader_epoch", sa.Integer, nullable=False),
    sa.Column("committed_ms", sa.BigInteger, nullable=False),
)

# Messages that wait for their time. `wake_ms` is when a row is looked at next; ids are in the order of the due times.
timers = sa.Table(
    "timers",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("topic_id", sa.Uuid, nullable=False),
    sa.Column("instance", sa.Text, nullable=False),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("partition", sa.Integer, nullable=False),
    sa.Column("message_id", sa.LargeBinary, nullable=False),
    sa.Column("due_ms", sa.BigInteger, nullable=False),
    sa.Column("wake_ms", sa.BigInteger, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("parked", sa.Text, nullable=False),
    sa.Column("size_bytes", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Index(None, "wake_ms", "id"),
    sa.Index(None, "topic_id", "id"),
)

# Messages that wait for their producer's word, and for a while what it was.
halves = sa.Table(
    "halves",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("topic_id", sa.Uuid, nullable=False),
    sa.Column("instance", sa.Text, nullable=False),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("partition", sa.Integer, nullable=False),
    sa.Column("group", sa.LargeBinary, nullable=False),
    sa.Column("message_id", sa.LargeBinary, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("prepared_ms", sa.BigInteger, nullable=False),
    sa.Column("immunity_ms", sa.BigInteger, nullable=False),
    sa.Column("wake_ms", sa.BigInteger, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("checks", sa.Integer, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("parked", sa.Text, nullable=False),
    sa.Column("size_bytes", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Index(None, "wake_ms", "id"),
    sa.Index(None, "topic_id", "id"),
)

# What happened to messages: notes, found by a number made of a message's id or a key.
trace_notes = sa.Table(
    "trace_notes",
    metadata,
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("mark", sa.BigInteger, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Index(None, "at_ms"),
    sa.Index(None, "mark"),
)

# What happened to all messages of a partition between two offsets.
trace_ranges = sa.Table(
    "trace_ranges",
    metadata,
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("first", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Index(None, "at_ms"),
    sa.Index(None, "number", "first"),
)

# What groups that take messages one by one have not done yet: changes, in order; see `core.cursors`.
cursor_changes = sa.Table(
    "cursor_changes",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("group", sa.LargeBinary, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Index(None, "group", "number"),
)

# What this cluster alone knows, by its use.
secrets = sa.Table(
    "secrets",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

# Figures of the last day: of the node, of a topic or of a group, as `scope` says; see `core.samples`.
samples = sa.Table(
    "samples",
    metadata,
    sa.Column("scope", sa.LargeBinary, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Index(None, "at_ms"),
)

# Who changed what.
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("node", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("protocol", sa.Text, nullable=False),
    sa.Column("operation", sa.Text, nullable=False),
    sa.Column("resource", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Index(None, "at_ms"),
)

# Small documents of several kinds, whose content is the business of those who keep them: rules, alarms, reports.
documents = sa.Table(
    "documents",
    metadata,
    sa.Column("kind", sa.String(32), primary_key=True),
    sa.Column("key", sa.LargeBinary, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Index(None, "kind", "at_ms"),
)

FIRST_ROWS: Final[Mapping[sa.Table, list[dict[str, Any]]]] = {
    counters: [
        {"name": CATALOG_REVISION, "value": 0},
        {"name": PARTITION_NUMBER, "value": 0},
        {"name": PRODUCER_ID, "value": 1},
    ],
    instances: [{"name": DEFAULT_INSTANCE, "description": ""}],
}
"""What a new database holds."""
