"""Alarms, inspections, settings, the audit log, live views and the support bundle, by the command."""

import ast
import json
import re
import zipfile
from pathlib import Path

import pytest

import braidmq
from cli_support import Braid
from running_node import RunningNode


def test_a_rule_of_alarms_is_kept_tested_silenced_and_taken_away(done: Braid, braid: Braid) -> None:
    done("alarm", "add", "late", "--kind", "lag", "--threshold", "10", "--for", "2m", "--scope", "billing-*")
    (kept,) = done("alarm", "rules", "--search", "late", "-o", "json").json
    assert (kept["rule"]["for_s"], kept["rule"]["threshold"]) == (120, 10)
    ended = braid("alarm", "test", "late")
    assert (ended.status, "tells nobody" in ended.err) == (5, True)
    silence = done("alarm", "silence", "why not", "--for", "1h", "--rule", "late", "-o", "json").json
    assert silence["id"] in {each["id"] for each in done("alarm", "silences", "-o", "json").json}
    done("alarm", "unsilence", silence["id"])
    assert silence["id"] not in {each["id"] for each in done("alarm", "silences", "-o", "json").json}
    done("alarm", "remove", "late", "--dry-run")
    assert len(done("alarm", "rules", "--search", "late", "-o", "json").json) == 1
    done("alarm", "remove", "late", "--yes")
    assert braid("alarm", "remove", "late", "--yes").status == 4
    assert isinstance(done("alarm", "list", "-o", "json").json, list)


def test_a_test_of_an_alarm_that_reaches_nobody_fails(done: Braid, braid: Braid) -> None:
    done("alarm", "add", "unheard", "--kind", "lag", "--notify", "http://127.0.0.1:1/hook")
    ended = braid("alarm", "test", "unheard")
    assert (ended.status, "127.0.0.1:1" in ended.out) == (1, True)
    done("alarm", "remove", "unheard", "--yes")


def test_the_node_inspects_itself(done: Braid, braid: Braid) -> None:
    ended = braid("inspect", "run", "-o", "json")
    assert ended.status in (0, 1)
    report = json.loads(ended.out)
    assert report["id"] in done("inspect", "list").out
    assert done("inspect", "show", "-o", "json").json == report
    assert done("inspect", "show", report["id"], "-o", "json").json == report
    assert braid("inspect", "show", "f" * 32).status == 4


def test_a_setting_is_changed_for_running_nodes_and_taken_back(done: Braid, braid: Braid) -> None:
    done("setting", "set", "trace.events", "off")
    assert done("setting", "get", "trace.events", "-o", "json").json["value"] == "off"
    assert "trace.events" in done("setting", "list", "--changed").out
    done("setting", "unset", "trace.events", "--dry-run")
    assert done("setting", "get", "trace.events", "-o", "json").json["value"] == "off"
    done("setting", "unset", "trace.events", "--yes")
    assert done("setting", "get", "trace.events", "-o", "json").json["value"] == "on"
    assert braid("setting", "set", "trace.events", "perhaps").status == 5
    assert braid("setting", "get", "no.such").status == 4


def test_what_was_changed_is_in_the_audit_log(done: Braid, wait_for: object) -> None:
    done("topic", "create", "audited")
    assert callable(wait_for)
    wait_for(lambda: any(each["name"] == "audited" for each in done("audit", "--from", "1h", "-o", "json").json))


def test_connections_are_listed(done: Braid) -> None:
    assert any(each["protocol"] == "http" for each in done("connection", "list", "-o", "json").json)


def test_top_gives_scripts_a_line_for_each_look_and_people_a_table(done: Braid) -> None:
    lines = done("top", "-o", "json", "--count", "2").out.splitlines()
    assert [set(json.loads(line)) >= {"rates", "lag", "alarms_firing"} for line in lines] == [True, True]
    assert "protocol" in done("top").out


def test_a_support_bundle_holds_what_is_asked_for_and_no_message(done: Braid, braid: Braid, tmp_path: Path) -> None:
    done("topic", "create", "bundled")
    done("produce", "bundled", "-b", "the-secret-body")
    log = tmp_path / "node.log"
    log.write_text("a line of the log\n")
    file = tmp_path / "bundle.zip"
    done("support-bundle", "--file", str(file), "--log", str(log))
    with zipfile.ZipFile(file) as bundle:
        content = {name: bundle.read(name) for name in bundle.namelist()}
    wanted = {"settings.json", "metrics.txt", "versions.json", "inspection.json", "samples.json", "logs/1-node.log"}
    assert wanted <= set(content)
    assert json.loads(content["missing.json"]) == {}
    assert not any(b"the-secret-body" in part for part in content.values())
    assert braid("support-bundle", "--log", str(tmp_path / "none")).status == 2


def test_a_support_bundle_without_a_node_says_what_is_missing(braid: Braid, tmp_path: Path) -> None:
    file = tmp_path / "bundle.zip"
    ended = braid("support-bundle", "--file", str(file), "--url", "http://127.0.0.1:1")
    assert ended.status == 0
    with zipfile.ZipFile(file) as bundle:
        assert "metrics.txt" in json.loads(bundle.read("missing.json"))
        assert json.loads(bundle.read("versions.json"))["braid"] == braidmq.__version__


# What inspections advise.


def _advised() -> list[str]:
    """Every command that an inspection names, with what it fills in as a word of its own."""
    found: set[str] = set()
    for path in sorted((Path(braidmq.__file__).parent / "core" / "inspection").glob("*.py")):
        tree = ast.parse(path.read_text())
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        texts = (_text(node) for node in ast.walk(tree) if id(node) not in parts)
        found |= {text for text in texts if re.match(r"braid [a-z{]", text)}
    return sorted(found)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def test_inspections_advise_commands() -> None:
    assert len(_advised()) >= 8


@pytest.mark.parametrize("advised", _advised())
def test_every_command_that_an_inspection_advises_exists(done: Braid, advised: str, node: RunningNode) -> None:
    for noun in ("topic", "group"):
        if not done(noun, "list", "--search", "advised", "-o", "json").json:
            done(noun, "create", "advised")
    for word in ("timer", "tx") if advised.startswith("braid {}") else ("advised",):
        arguments = advised.replace("{}", word).split()[1:]
        if arguments[0] in ("up", "doctor", "pipeline", "archive"):  # these need a machine, not a node
            assert "Usage" in done(*arguments, "--help").out
        else:
            done(*arguments)


def test_nodes_and_figures_are_shown(done: Braid, wait_for: object) -> None:
    (shown,) = done("node", "list", "-o", "json").json
    assert set(shown["listeners"]) == {"http", "kafka", "rocketmq"}
    assert done("node", "overview", "-o", "json").json["storage"]["used_bytes"] >= 0
    assert "rates" in done("node", "overview").out
    names = {each["name"] for each in done("sample", "list", "-o", "json").json}
    assert names
    assert callable(wait_for)
    wait_for(lambda: bool(done("sample", "show", *sorted(names), "-o", "json").json), 40.0)


def test_what_needs_the_tables_of_the_pipeline_says_how_to_get_them(braid: Braid) -> None:
    for arguments in (("report", "list"), ("report", "show", "usage-day"), ("archive", "search", "--topic", "x")):
        ended = braid(*arguments)
        assert ended.status == 5
        assert "to do: " in ended.err
