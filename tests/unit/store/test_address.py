import pytest

from braidmq.model.errors import StoreFailed
from braidmq.store._address import PostgresAddress, SqliteAddress, parse_address


def test_a_sqlite_address_names_a_file_whatever_characters_its_path_has() -> None:
    for path in ("/data/braid.db", "/data/50% of ?#&+ ü/braid.db"):
        address = parse_address(f"sqlite:///{path}")
        assert address == SqliteAddress(path)
        assert str(address) == f"sqlite:///{path}"


@pytest.mark.parametrize(
    "text",
    ["sqlite://", "sqlite:///", "sqlite:////", "sqlite:///braid.db", "sqlite:///:memory:", "sqlite:////data/"],
)
def test_a_sqlite_address_without_an_absolute_path_is_refused_with_the_fix(text: str) -> None:
    with pytest.raises(StoreFailed, match="four slashes"):
        parse_address(text)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_postgresql_address_is_shown_without_its_password(scheme: str) -> None:
    address = parse_address(f"{scheme}://ann:p%40ss@db.example:5433/braid?sslmode=require")
    assert isinstance(address, PostgresAddress)
    assert address.url.password == "p@ss"  # noqa: S105 - not a secret of anybody
    assert address.url.drivername == "postgresql+asyncpg"
    assert dict(address.url.query) == {"ssl": "require"}
    assert str(address) == "postgresql://ann:***@db.example:5433/braid?ssl=require"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "cannot be read"),
        ("braid.db", "cannot be read"),
        ("postgresql://ann:hidden@host:port/braid", "cannot be read"),
        ("mysql://ann:hidden@host/braid", "'mysql' is not supported"),
        ("postgresql+psycopg2://ann:hidden@host/braid", "is not supported"),
        ("postgresql://ann:hidden@host", "names no database"),
        ("postgresql://ann:hidden@host/braid?pool=3", "unknown option 'pool'; known are host, sslmode"),
    ],
)
def test_an_address_that_is_not_one_is_refused_without_showing_the_password(text: str, reason: str) -> None:
    with pytest.raises(StoreFailed, match=reason) as caught:
        parse_address(text)
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None
