"""What the commands that start nothing print, and the status they end with."""

import csv
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

import braidmq
from braidmq.cli import _bench
from braidmq.cli._errors import exit_status
from braidmq.model import BraidError
from braidmq.model import errors as model
from braidmq.settings import keys

Braid = Callable[..., Any]


@pytest.mark.parametrize("arguments", [("version",), ("--version",), ("-V",), ("-V", "topic")])
def test_version_is_that_of_the_package(braid: Braid, arguments: tuple[str, ...]) -> None:
    assert braid(*arguments) == (0, f"braid {braidmq.__version__}\n", "")


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_alone_loads_nothing_at_all(option: str) -> None:
    script = (
        f"import sys\nsys.argv = ['braid', '{option}']\nfrom braidmq.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(sorted({'typer', 'click', 'msgspec', 'asyncio'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == [f"braid {braidmq.__version__}", "[]"]


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("up", "--help"), ("config", "--help")])
def test_help_is_given(braid: Braid, arguments: tuple[str, ...]) -> None:
    ended = braid(*arguments)
    assert ended.status == 0
    assert "Usage: braid" in ended.out


def test_an_unknown_command_is_a_usage_error_that_names_the_nearest(braid: Braid) -> None:
    ended = braid("doctr")
    assert ended.status == 2
    assert "doctor" in ended.err


def test_config_show_tells_each_value_and_its_origin(braid: Braid, tmp_path: Path) -> None:
    file = tmp_path / "braid.toml"
    file.write_text('[log]\nflush = "interval"\n')
    ended = braid("config", "show", "--config", str(file), "--set", "http.listen=off")
    rows = {line.split()[0]: line.split()[1:] for line in ended.out.splitlines()}
    assert ended.status == 0
    assert set(rows) == set(keys())
    assert rows["log.flush"] == ["interval", str(file)]
    assert rows["http.listen"] == ["off", "--set"]
    assert rows["logging.level"] == ["warning", "default"]


def test_config_show_has_a_form_for_scripts(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAID_NODE_NAME", "n7")
    shown = msgspec.json.decode(braid("config", "show", "-o", "json").out)
    assert shown["node.name"] == {"value": "n7", "origin": "environment BRAID_NODE_NAME"}


@pytest.mark.parametrize("words", [("config", "show"), ("doctor",), ("pipeline", "status"), ("archive", "find")])
def test_what_runs_without_a_node_has_the_same_four_forms(braid: Braid, words: tuple[str, ...]) -> None:
    ended = braid(*words, "-o", "xml")
    assert (ended.status, "it is table, json, yaml or csv" in ended.err) == (2, True)


def test_settings_are_shown_as_yaml_and_csv(braid: Braid) -> None:
    assert yaml.safe_load(braid("config", "show", "-o", "yaml").out)["node.name"]["value"] == "node-1"
    rows = list(csv.DictReader(io.StringIO(braid("config", "show", "-o", "csv").out)))
    assert rows[0] == {"key": "node.name", "value": "node-1", "origin": "default"}


def test_config_show_reads_the_file_that_the_environment_names(
    braid: Braid, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "braid.toml"
    file.write_text('[node]\nname = "n8"\n')
    monkeypatch.setenv("BRAID_CONFIG", str(file))
    assert "n8" in braid("config", "show").out


def test_no_form_of_config_show_prints_a_password(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAID_STORE_URL", "postgresql://u:geheim@host/db")
    for output in ("table", "json"):
        ended = braid("config", "show", "-o", output)
        assert "postgresql://u:***@host/db" in ended.out
        assert "geheim" not in ended.out + ended.err


def test_config_check_accepts_a_good_file_and_refuses_a_bad_one(braid: Braid, tmp_path: Path) -> None:
    file = tmp_path / "braid.toml"
    file.write_text('[log]\nsegment_bytes = "32MiB"\n')
    assert braid("config", "check", str(file)) == (0, f"{file}: ok\n", "")
    file.write_text("[log]\nsegment_byte = 1\n")
    ended = braid("config", "check", str(file))
    assert ended.status == 2
    assert ended.err == f"braid: {file}: there is no key 'segment_byte' in [log]; did you mean segment_bytes?\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("up", "--flush", "never"), "braid: --flush: log.flush cannot be 'never'; it is commit or interval\n"),
        (("up", "--set", "log"), "braid: --set: 'log' is not KEY=VALUE, such as log.flush=interval\n"),
        (("up", "--config", "/no/file"), "braid: /no/file: cannot be read: No such file or directory; name the"),
        (("config", "show", "-o", "xml"), "braid: --output: cannot be 'xml'; it is table, json, yaml or csv\n"),
    ],
)
def test_a_bad_setting_is_one_line_and_status_2(braid: Braid, arguments: tuple[str, ...], message: str) -> None:
    ended = braid(*arguments)
    assert ended.status == 2
    assert ended.err.startswith(message)
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (model.InvalidSetting(), 2),
        (model.StorageFailed(), 3),
        (model.StorageFull(), 3),
        (model.DamagedLog(), 3),
        (model.DataFolderInUse(), 1),
        (model.ListenFailed(), 1),
    ],
)
def test_every_kind_of_error_has_its_exit_status(error: BraidError, status: int) -> None:
    assert exit_status(error) == status


def test_bench_says_where_it_works(tmp_path: Path) -> None:
    with pytest.raises(model.InvalidSetting, match="works in a checkout of the source"):
        _bench.run_bench("log", [], tmp_path / "bench")


def test_bench_runs_the_script_of_that_name_with_its_arguments(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log.py").write_text("import sys; print(sys.argv[1:]); sys.exit(4)")
    assert _bench.run_bench("log", ["--size", "1"], tmp_path) == 4
    assert "['--size', '1']" in capfd.readouterr().out
    with pytest.raises(model.InvalidSetting, match=r"there is no bench '\.\./x'; there are: log"):
        _bench.run_bench("../x", [], tmp_path)


def test_help_loads_nothing_of_the_node() -> None:
    script = (
        "import sys\nsys.argv = ['braid', '--help']\nfrom braidmq.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(sorted({'litestar', 'uvicorn', 'sqlalchemy', 'rich', 'aiokafka'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [["version"], ["topic", "--help"], ["consume", "--help"], ["demo", "--help"]])
def test_commands_load_what_they_need_and_no_more(arguments: list[str]) -> None:
    script = (
        f"import sys\nsys.argv = ['braid', *{arguments}]\nfrom braidmq.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'httpx', 'rich', 'yaml', 'aiokafka', 'asyncio', 'litestar', 'sqlalchemy', 'braidmq.settings'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    wanted = "[]" if arguments[0] != "demo" else "['asyncio']"
    assert out.splitlines()[-1] == wanted
