"""Messages that wait for their producer's word."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "halves",
        sa.Column("id", sa.Uuid, nullable=False),
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
        sa.PrimaryKeyConstraint("id", name="pk_halves"),
    )
    op.create_index("ix_halves_wake_ms_id", "halves", ["wake_ms", "id"])
    op.create_index("ix_halves_topic_id_id", "halves", ["topic_id", "id"])
