"""Units, the reference page, and what must never be shown."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.settings import keys, load, redact_url, reference_page

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("log.segment_bytes", "64MiB", 64 << 20),
        ("log.segment_bytes", "2 MB", 2_000_000),
        ("log.segment_bytes", "1048576", 1 << 20),
        ("log.flush_interval_ms", "2s", 2_000),
        ("log.flush_interval_ms", "250", 250),
        ("log.maintenance_interval_s", "1h", 3_600),
        ("http.body_bytes_max", "1KiB", 1024),
    ],
)
def test_sizes_and_times_take_the_units_people_write(path: str, text: str, value: int) -> None:
    assert keys()[path].kind.parse(text) == value


@given(path=st.sampled_from(list(keys())), number=st.integers(0, 1 << 40))
def test_what_is_shown_parses_to_the_same_value_again(path: str, number: int) -> None:
    kind = keys()[path].kind
    try:
        value = kind.parse(number)
    except ValueError:
        value = keys()[path].default
    if path != "store.url":
        assert kind.parse(kind.show(value)) == value


@given(raw=st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.integers()), st.none()))
def test_no_value_however_odd_escapes_as_another_error(raw: object) -> None:
    for key in keys().values():
        try:
            key.kind.parse(raw)
        except ValueError:
            continue


def test_every_setting_is_described() -> None:
    for key in keys().values():
        assert key.description.endswith("."), key.path
        assert key.variable == f"BRAID_{key.section}_{key.name}".upper()


def test_the_reference_page_in_the_docs_is_what_the_structs_say() -> None:
    assert PAGE.read_text() == reference_page(), "run: ./braid config reference > docs/settings.md"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:geheim@host:5432/db", "postgresql://u:***@host:5432/db"),
        ("postgresql://u:ge@he/im@host/db", "postgresql://u:***@host/db"),
        (
            "postgresql://host/db?user=u&password=geheim&sslmode=require",
            "postgresql://host/db?user=u&password=***&sslmode=require",
        ),
        ("postgresql://u@host/db", "postgresql://u@host/db"),
        ("sqlite:////data/braid.db", "sqlite:////data/braid.db"),
    ],
)
def test_a_password_in_an_address_is_not_shown(url: str, shown: str) -> None:
    assert redact_url(url) == shown


def test_a_wrong_secret_is_not_repeated_in_the_error(tmp_path: Path) -> None:
    file = tmp_path / "braid.toml"
    file.write_text("[store]\nurl = ['postgresql://u:geheim@h/d']\n")
    with pytest.raises(Exception, match=r"store\.url cannot be the value given") as raised:
        load(file=file)
    assert "geheim" not in str(raised.value)
