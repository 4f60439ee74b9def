"""Topics, groups, offsets and what belongs to them, by the command."""

import csv
import io

import pytest
import yaml

from cli_support import Braid


def test_a_topic_is_made_shown_changed_and_deleted(done: Braid, braid: Braid) -> None:
    done("topic", "create", "life", "--partitions", "2", "--set", "retention.ms=60000")
    shown = done("topic", "show", "life", "-o", "json").json
    assert (shown["partitions"], shown["retention_ms"], len(shown["partitions_detail"])) == (2, 60_000, 2)
    done("topic", "alter", "life", "-p", "3", "--unset", "retention.ms")
    assert done("topic", "describe", "life", "-o", "json").json["settings"] == {}
    assert "retention.ms" in done("topic", "settings", "life").out
    done("topic", "delete", "life", "--yes")
    assert braid("topic", "show", "life").status == 4


def test_every_list_has_four_forms(done: Braid) -> None:
    done("topic", "create", "forms")
    table = done("topic", "list", "--search", "forms").out.splitlines()
    assert table[0].split()[:3] == ["name", "kind", "partitions"]
    assert table[1].split()[0] == "forms"
    (in_json,) = done("topic", "list", "--search", "forms", "-o", "json").json
    (in_yaml,) = yaml.safe_load(done("topic", "list", "--search", "forms", "-o", "yaml").out)
    (in_csv,) = csv.DictReader(io.StringIO(done("topic", "list", "--search", "forms", "-o", "csv").out))
    assert in_json == in_yaml
    assert in_csv["name"] == "forms"
    assert list(in_csv) == list(in_json)


def test_a_list_goes_through_all_pages_and_says_what_was_left_out(done: Braid) -> None:
    for number in range(3):
        done("topic", "create", f"paged-{number}")
    ended = done("topic", "list", "--search", "paged-", "--sort", "-name", "--limit", "2")
    assert [line.split()[0] for line in ended.out.splitlines()[1:]] == ["paged-2", "paged-1"]
    assert "1 more are there: --limit 3" in ended.err


def test_what_destroys_shows_with_a_dry_run_what_would_be_and_does_nothing(done: Braid) -> None:
    done("topic", "create", "kept", "-p", "1")
    done("produce", "kept", "-b", "x", "-n", "5")
    (cut,) = done("topic", "empty", "kept", "--dry-run", "-o", "json").json
    assert (cut["new_start"], cut["messages"]) == (5, 5)
    assert done("topic", "delete", "kept", "--dry-run", "-o", "json").json["messages"] == 5
    assert done("topic", "show", "kept", "-o", "json").json["messages"] == 5
    done("topic", "empty", "kept", "--before-offset", "0=2", "--yes")
    assert done("topic", "show", "kept", "-o", "json").json["messages"] == 3


def test_a_group_is_made_paused_moved_and_deleted(done: Braid, braid: Braid) -> None:
    done("topic", "create", "moves", "-p", "1")
    done("produce", "moves", "-b", "x", "-n", "10")
    done("group", "create", "movers", "--attempts", "3", "--ordered")
    assert done("group", "alter", "movers", "--no-ordered", "-o", "json").json["ordered"] is False
    assert done("group", "pause", "movers", "-o", "json").json["paused"] is True
    assert done("group", "resume", "movers", "-o", "json").json["paused"] is False
    reset = ("offset", "reset", "movers", "--topic", "moves", "-o", "json")
    (preview,) = done(*reset, "--to", "4", "--dry-run").json
    assert (preview["old"], preview["new"], preview["lag_after"]) == (None, 4, 6)
    assert [each["committed"] for each in done("offset", "show", "movers", "-o", "json").json] == []
    assert done(*reset, "--to", "4", "--yes").json[0]["new"] == 4
    assert done(*reset, "--to", "-3", "--yes").json[0]["new"] == 1
    assert done(*reset, "--to", "1h", "--yes").json[0]["new"] == 0
    assert done("offset", "skip", "movers", "-o", "json", "--yes").json[0]["lag_after"] == 0
    done("group", "create", "followers")
    assert done("offset", "clone", "followers", "--from", "movers", "-o", "json", "--yes").json[0]["new"] == 10
    done("offset", "delete", "followers", "--topic", "moves", "--yes")
    assert "movers" in done("group", "list", "--sort", "-lag").out
    assert done("group", "show", "movers", "-o", "json").json["attempts_max"] == 3
    assert "nobody is in movers" in done("group", "members", "movers").err
    done("group", "delete", "movers", "--yes")
    assert braid("group", "show", "movers").status == 4


def test_subscriptions_and_instances_come_and_go(done: Braid, braid: Braid) -> None:
    done("topic", "create", "wanted")
    done("group", "create", "wishers")
    done("subscription", "save", "wishers", "wanted", "--tag", "paid")
    (kept,) = done("subscription", "list", "--group", "wishers", "-o", "json").json
    assert (kept["filter_kind"], kept["expression"]) == ("tag", "paid")
    done("subscription", "delete", "wishers", "wanted", "--yes")
    done("instance", "create", "shops", "--description", "tills")
    done("topic", "create", "tills", "--instance", "shops")
    assert done("instance", "show", "shops", "-o", "json").json["topics"] == 1
    assert braid("instance", "delete", "shops", "--yes").status == 5
    done("topic", "delete", "tills", "--instance", "shops", "--yes")
    done("instance", "delete", "shops", "--yes")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("topic", "show", "nowhere"), 4, "to do: "),
        (("topic", "create", "bad name"), 5, "to do: "),
        (("topic", "list", "-o", "xml"), 2, "table, json, yaml or csv"),
        (("topic", "list", "--sort", "beauty"), 5, "sort"),
        (("topic", "alter", "forms"), 2, "--partitions"),
        (("topic", "list", "--url", "http://127.0.0.1:1"), 6, "braid up"),
        (("topic", "list", "--context", "nowhere"), 2, "braid context add"),
        (("offset", "reset", "movers", "--to", "somewhere"), 2, "earliest, latest"),
    ],
)
def test_errors_name_the_fix_and_have_a_status_that_scripts_can_use(
    braid: Braid, arguments: tuple[str, ...], status: int, said: str
) -> None:
    ended = braid(*arguments)
    assert ended.status == status, ended
    assert said in ended.err
    assert ended.out == ""


def test_lite_topics_are_listed_shown_and_deleted(done: Braid, braid: Braid) -> None:
    done("topic", "create", "meters", "--kind", "lite", "-p", "1", "--set", "lite.topic.expiration=60")
    for name, count in (("meter-1", 3), ("meter-2", 1)):
        done("topic", "create", f"%LITE%meters|{name}", "-p", "1")
        done("produce", f"%LITE%meters|{name}", "-b", "x", "-n", str(count))
    listed = done("topic", "lite", "list", "meters", "--search", "meter-").out.splitlines()
    assert listed[0].split() == ["name", "messages", "size", "groups", "lag", "readers", "last", "expires"]
    assert [line.split()[:2] for line in listed[1:]] == [["meter-1", "3"], ["meter-2", "1"]]
    shown = done("topic", "lite", "show", "meters", "meter-1", "-o", "json").json
    assert (shown["topic"], shown["messages"], shown["subscribers"]) == ("%LITE%meters|meter-1", 3, [])
    assert shown["ends_ms"] == shown["last_ms"] + 3_600_000
    assert "nobody subscribes" in done("topic", "lite", "readers", "meters").err
    assert done("topic", "lite", "delete", "meters", "meter-1", "--dry-run", "-o", "json").json["messages"] == 3
    done("topic", "lite", "delete", "meters", "meter-1", "--yes")
    gone = braid("topic", "lite", "show", "meters", "meter-1")
    assert (gone.status, "there is no lite topic" in gone.err) == (4, True)
    assert done("topic", "delete", "meters", "--dry-run", "-o", "json").json["lite_topics"] == 1
    done("topic", "delete", "meters", "--yes")
