"""Instances, topics, partitions and groups, and the counters that order their changes."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    counters = op.create_table(
        "counters",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_counters"),
    )
    op.create_table(
        "catalog_changes",
        sa.Column("revision", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("revision", name="pk_catalog_changes"),
    )
    instances = op.create_table(
        "instances",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_instances"),
    )
    _create_topics()
    _create_groups()
    op.bulk_insert(counters, [{"name": "catalog_revision", "value": 0}, {"name": "partition_number", "value": 0}])
    op.bulk_insert(instances, [{"name": "default", "description": ""}])


def _create_topics() -> None:
    op.create_table(
        "topics",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("instance", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("claimed_name", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("retention_ms", sa.BigInteger, nullable=False),
        sa.Column("retention_bytes", sa.BigInteger, nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("deleting", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_topics"),
        sa.ForeignKeyConstraint(["instance"], ["instances.name"], name="fk_topics_instance"),
        sa.UniqueConstraint("instance", "claimed_name", name="uq_topics_instance_claimed_name"),
    )
    op.create_table(
        "partitions",
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("topic_id", sa.Uuid, nullable=False),
        sa.Column("index", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_partitions"),
        sa.ForeignKeyConstraint(["topic_id"], ["topics.id"], name="fk_partitions_topic_id", ondelete="CASCADE"),
        sa.UniqueConstraint("topic_id", "index", name="uq_partitions_topic_id_index"),
    )


def _create_groups() -> None:
    op.create_table(
        "groups",
        sa.Column("instance", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("broadcast", sa.Boolean, nullable=False),
        sa.Column("ordered", sa.Boolean, nullable=False),
        sa.Column("attempts_max", sa.Integer, nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("instance", "name", name="pk_groups"),
        sa.ForeignKeyConstraint(["instance"], ["instances.name"], name="fk_groups_instance"),
    )
