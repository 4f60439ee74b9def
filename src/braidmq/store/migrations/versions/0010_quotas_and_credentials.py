"""What clients are limited to, and what users prove their passwords by."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "quotas",
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("client", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("limits", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("user", "client", "host", name="pk_quotas"),
    )
    op.create_table(
        "scram_credentials",
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("mechanism", sa.Text, nullable=False),
        sa.Column("iterations", sa.Integer, nullable=False),
        sa.Column("salt", sa.LargeBinary, nullable=False),
        sa.Column("stored_key", sa.LargeBinary, nullable=False),
        sa.Column("server_key", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("user", "mechanism", name="pk_scram_credentials"),
    )
