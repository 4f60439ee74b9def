"""What happened to messages."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "trace_notes",
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("mark", sa.BigInteger, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_trace_notes_at_ms", "trace_notes", ["at_ms"])
    op.create_index("ix_trace_notes_mark", "trace_notes", ["mark"])
    op.create_table(
        "trace_ranges",
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_trace_ranges_at_ms", "trace_ranges", ["at_ms"])
    op.create_index("ix_trace_ranges_number_first", "trace_ranges", ["number", "first"])
