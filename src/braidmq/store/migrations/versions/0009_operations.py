"""What operators look at: samples of figures, the audit log, and documents such as rules, alarms and reports."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "samples",
        sa.Column("scope", sa.LargeBinary, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_samples_at_ms", "samples", ["at_ms"])
    op.create_table(
        "audit",
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
    )
    op.create_index("ix_audit_at_ms", "audit", ["at_ms"])
    op.create_table(
        "documents",
        sa.Column("kind", sa.String(32), primary_key=True),
        sa.Column("key", sa.LargeBinary, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_documents_kind_at_ms", "documents", ["kind", "at_ms"])
