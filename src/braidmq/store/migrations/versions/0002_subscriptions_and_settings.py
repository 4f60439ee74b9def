"""Subscriptions, which say what a group reads, and the central settings."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "subscriptions",
        sa.Column("instance", sa.Text, nullable=False),
        sa.Column("group", sa.Text, nullable=False),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("event_code", sa.Text, nullable=False),
        sa.Column("filter_kind", sa.Text, nullable=False),
        sa.Column("expression", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("instance", "group", "topic", "event_code", name="pk_subscriptions"),
        sa.ForeignKeyConstraint(
            ["instance", "group"], ["groups.instance", "groups.name"], name="fk_subscriptions_instance_group"
        ),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("changed_by", sa.Text, nullable=False),
        sa.Column("changed_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_settings"),
    )
