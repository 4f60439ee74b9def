"""What happened to messages."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "trace_events",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("message_id", sa.LargeBinary, nullable=False),
        sa.Column("topic_id", sa.Uuid, nullable=True),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("partition", sa.Integer, nullable=False),
        sa.Column("offset", sa.BigInteger, nullable=False),
        sa.Column("group", sa.LargeBinary, nullable=False),
        sa.Column("client", sa.LargeBinary, nullable=False),
        sa.Column("value", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_trace_events"),
    )
    op.create_index("ix_trace_events_message_id", "trace_events", ["message_id"])
    op.create_table(
        "trace_keys",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("message_id", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_trace_keys"),
    )
    op.create_index("ix_trace_keys_key", "trace_keys", ["key"])
    op.create_table(
        "trace_ranges",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("group", sa.LargeBinary, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("client", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_trace_ranges"),
    )
    op.create_index("ix_trace_ranges_number_first", "trace_ranges", ["number", "first"])
