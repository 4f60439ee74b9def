"""What a subscription of RocketMQ's chooses by: tags, unless it says SQL92."""

from typing import Final

from braidmq.model import FilterKind

SQL_TYPE: Final = "SQL92"


def kind_of(expression_type: str | None, expression: str | None) -> FilterKind:
    if expression_type == SQL_TYPE:
        return FilterKind.SQL
    return FilterKind.ALL if expression in (None, "", "*") else FilterKind.TAG
