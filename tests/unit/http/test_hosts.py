"""Names under which a node that only this machine reaches may be asked."""

import pytest

from braidmq.protocols.http._hosts import is_own_name


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8400", "127.0.0.1", "localhost:8400", "[::1]:8400", "[::1]", "mq.localhost", "10.0.0.1", ""]
)
def test_addresses_and_the_machines_own_name_are_taken(host: str) -> None:
    assert is_own_name(host)


@pytest.mark.parametrize("host", ["evil.example:8400", "localhost.evil.example", "127.0.0.1.evil.example", "[x]:1"])
def test_names_of_others_are_not(host: str) -> None:
    assert not is_own_name(host)
