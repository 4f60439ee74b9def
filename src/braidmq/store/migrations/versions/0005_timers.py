"""Messages that wait for their time."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "timers",
        sa.Column("id", sa.Uuid, nullable=False),
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
        sa.PrimaryKeyConstraint("id", name="pk_timers"),
    )
    op.create_index("ix_timers_wake_ms_id", "timers", ["wake_ms", "id"])
    op.create_index("ix_timers_topic_id_id", "timers", ["topic_id", "id"])
