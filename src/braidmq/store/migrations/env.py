"""What alembic runs to migrate: on the connection, and in the transaction, that `_schema` hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
