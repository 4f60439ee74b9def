"""Where settings come from, which source wins, and what is refused."""

from pathlib import Path

import pytest

from braidmq.model.errors import InvalidSetting
from braidmq.protocols.listener import Address, Endpoint
from braidmq.settings import CONFIG_VARIABLE, READY_FILE_VARIABLE, Settings, flag, load


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "braid.toml"


def test_without_any_source_the_defaults_hold() -> None:
    loaded = load()
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}


def test_a_flag_beats_the_environment_which_beats_the_file(file: Path) -> None:
    file.write_text('[log]\nflush = "interval"\nsegment_bytes = "2MiB"\nopen_files_max = 20\n')
    environment = {"BRAID_LOG_SEGMENT_BYTES": "3MiB", "BRAID_LOG_OPEN_FILES_MAX": "30"}
    flags = {"log.open_files_max": flag("log.open_files_max", "40", "--set")}
    settings, origins = load(file=file, environment=environment, flags=flags)
    assert settings.log.flush == "interval"
    assert settings.log.segment_bytes == 3 << 20
    assert settings.log.open_files_max == 40
    assert origins["log.flush"] == str(file)
    assert origins["log.segment_bytes"] == "environment BRAID_LOG_SEGMENT_BYTES"
    assert origins["log.open_files_max"] == "--set"
    assert origins["http.listen"] == "default"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[log]\nfluch = 1", "there is no key 'fluch' in [log]; did you mean flush?"),
        ("[lgo]\nflush = 1", "there is no section [lgo]; did you mean log?"),
        (
            "[zzz]\nlisten = 'x'",
            "there is no section [zzz]; known are: node, log, store, topics, timers, halves, groups, trace, query",
        ),
        ("[kafka]\nlisten = 'h:1 as'", "kafka.listen cannot be 'h:1 as'; it is HOST:PORT or HOST:PORT as HOST:PORT"),
        ("log = 1", "log is a section; write [log] and its keys below"),
        ("[log]\nflush = 'sometimes'", "log.flush cannot be 'sometimes'; it is commit or interval"),
        ("[log]\nflush = ['commit']", "log.flush cannot be ['commit']; it is commit or interval"),
        ("[log]\nsegment_bytes = '1TiB'", "log.segment_bytes cannot be '1TiB'; it is a number with B, KiB"),
        ("[log]\nsegment_bytes = 5", "from 1MiB to 1GiB"),
        ("[log]\nopen_files_max = true", "log.open_files_max cannot be True; it is a number from 16"),
        ("[node]\nname = 'a b'", "node.name cannot be 'a b'"),
        ("[node]\nname = 'a\\n'", "node.name cannot be"),
        ('[node]\nname = "a\\n"', "node.name cannot be"),
        ("[node]\ndata = '~nobody-of-this-name/x'", "node.data cannot be"),
        ("[node]\ndata = 7", "node.data cannot be 7; it is a path"),
        ("[http]\nlisten = '8400'", "http.listen cannot be '8400'; it is HOST:PORT, such as 127.0.0.1:8400, or off"),
        ("[http\n", "is not valid TOML"),
    ],
)
def test_a_mistake_in_a_file_names_the_file_the_key_and_what_is_allowed(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(InvalidSetting) as raised:
        load(file=file)
    assert raised.value.message.startswith(f"{file}: ")
    assert message in raised.value.message


def test_a_file_that_is_missing_not_text_or_far_too_large_is_refused(file: Path) -> None:
    with pytest.raises(InvalidSetting, match="No such file"):
        load(file=file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidSetting, match="not valid TOML"):
        load(file=file)
    file.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(InvalidSetting, match="larger than"):
        load(file=file)


def test_an_unknown_variable_of_ours_names_the_nearest_and_strangers_are_left_alone() -> None:
    known = {"PATH": "/bin", CONFIG_VARIABLE: "x", READY_FILE_VARIABLE: "y"}
    assert load(environment=known).settings == Settings()
    with pytest.raises(InvalidSetting, match=r"BRAID_LOG_FLUSCH; did you mean BRAID_LOG_FLUSH\?"):
        load(environment={"BRAID_LOG_FLUSCH": "commit"})


def test_a_wrong_value_in_the_environment_names_the_variable() -> None:
    with pytest.raises(InvalidSetting, match=r"environment BRAID_HTTP_LISTEN: http\.listen cannot be 'x'"):
        load(environment={"BRAID_HTTP_LISTEN": "x"})


def test_an_unknown_key_in_a_flag_names_the_nearest() -> None:
    with pytest.raises(InvalidSetting, match=r"--set: there is no setting 'log\.flsh'; did you mean log\.flush\?"):
        flag("log.flsh", "commit", "--set")


def test_the_database_is_a_file_in_the_data_folder_unless_named(tmp_path: Path) -> None:
    flags = {"node.data": flag("node.data", str(tmp_path), "--data")}
    assert load(flags=flags).settings.store_url == f"sqlite:///{tmp_path}/store.sqlite"
    environment = {"BRAID_STORE_URL": "postgresql://host/name"}
    assert load(environment=environment).settings.store_url == "postgresql://host/name"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("[::1]:8400", Address("::1", 8400)),
        ("broker.example:65535", Address("broker.example", 65535)),
        ("off", None),
    ],
)
def test_an_address_is_host_and_port_or_off(text: str, address: Address | None) -> None:
    assert load(environment={"BRAID_HTTP_LISTEN": text}).settings.http.listen == address


@pytest.mark.parametrize("text", ["", ":", ":80", "host:", "host:x", "host:65536", "::1:80", "host:-1", "host:²"])
def test_what_is_not_an_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidSetting, match=r"http\.listen"):
        load(environment={"BRAID_HTTP_LISTEN": text})


def test_the_listeners_that_are_turned_on_are_found_by_their_section() -> None:
    here = (Address("127.0.0.1", 8400),)
    kafka, rocketmq = (Address("127.0.0.1", 9092),), (Address("127.0.0.1", 9876),)
    both = {"rocketmq": rocketmq, "rocketmq_grpc": (Address("127.0.0.1", 8081),)}
    assert load().settings.listen == {"http": here, "kafka": kafka} | both
    assert load(environment={"BRAID_KAFKA_LISTEN": "off"}).settings.listen == {"http": here} | both


def test_kafka_listens_on_several_addresses_each_with_the_one_it_is_known_by() -> None:
    text = "192.0.2.1:9092 as broker.example:19092, [::1]:9093"
    loaded = load(environment={"BRAID_KAFKA_LISTEN": text})
    assert loaded.settings.kafka.listen == (
        Endpoint(Address("192.0.2.1", 9092), Address("broker.example", 19092)),
        Endpoint(Address("::1", 9093)),
    )
    assert ", ".join(map(str, loaded.settings.kafka.listen)) == text
