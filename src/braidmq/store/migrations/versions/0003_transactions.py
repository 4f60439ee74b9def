"""Transactions of producers, and the counter from which producers get their ids."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "transactions",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("producer_id", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("timeout_ms", sa.BigInteger, nullable=False),
        sa.Column("partitions", sa.JSON, nullable=False),
        sa.Column("groups", sa.JSON, nullable=False),
        sa.Column("last_epoch", sa.Integer, nullable=False),
        sa.Column("previous_producer_id", sa.BigInteger, nullable=False),
        sa.Column("next_producer_id", sa.BigInteger, nullable=False),
        sa.Column("bumps_epoch", sa.Boolean, nullable=False),
        sa.Column("started_ms", sa.BigInteger, nullable=False),
        sa.Column("changed_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_transactions"),
    )
    counters = sa.table("counters", sa.column("name", sa.Text), sa.column("value", sa.BigInteger))
    op.bulk_insert(counters, [{"name": "producer_id", "value": 1}])
