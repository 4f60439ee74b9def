"""What groups remember of their members, and the offsets that wait for the end of a transaction."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "group_rows",
        sa.Column("group", sa.LargeBinary, nullable=False),
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("group", "key", name="pk_group_rows"),
    )
    op.create_table(
        "group_pending_offsets",
        sa.Column("producer_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("group", sa.LargeBinary, nullable=False),
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("offset", sa.BigInteger, nullable=False),
        sa.Column("metadata", sa.LargeBinary, nullable=False),
        sa.Column("leader_epoch", sa.Integer, nullable=False),
        sa.Column("committed_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("producer_id", "group", "number", name="pk_group_pending_offsets"),
    )
