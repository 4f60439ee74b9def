"""A running node is measured and filled, on every protocol that it speaks."""

import pytest

from cli_support import Braid


@pytest.mark.parametrize("protocol", ["http", "kafka", "rocketmq"])
def test_a_running_node_is_measured_on_every_protocol(done: Braid, protocol: str) -> None:
    common = ("--protocol", protocol, "-o", "json")
    topic = f"bench-{protocol}"
    sent = done("bench", "produce", *common, "-n", "300", "--size", "100", "--topic", topic).json
    assert (sent["messages"], sent["protocol"]) == (300, protocol)
    assert 0 < sent["p50_ms"] <= sent["p99_ms"] <= sent["max_ms"]
    read = done("bench", "consume", *common, "-n", "300", "--topic", topic).json
    assert read["messages"] >= 300
    assert read["messages_per_s"] > 0
    took = done("bench", "latency", *common, "-n", "20", "--topic", f"{topic}-latency").json
    assert 0 < took["p50_ms"] <= took["max_ms"]
    assert done("topic", "show", topic, "-o", "json").json["messages"] == 301


def test_a_bench_says_what_it_cannot_do(braid: Braid) -> None:
    assert braid("bench", "produce", "--protocol", "pigeon").status == 2
    ended = braid("bench", "consume", "-n", "100000", "--topic", "bench-http")
    assert (ended.status, "braid bench produce" in ended.err) == (2, True)


def test_the_demo_gives_every_page_life_and_is_taken_away_again(done: Braid) -> None:
    assert "demo-payments" in done("demo", "--dry-run").out
    assert done("topic", "list", "--search", "demo-", "-o", "json").json == []
    told = done("demo", "--minutes", "0.02", "--messages", "300", "-o", "json").json
    assert set(told["payments"]) == {"http", "kafka", "rocketmq"}
    groups = {each["name"]: each for each in done("group", "list", "--search", "demo-", "-o", "json").json}
    assert groups["demo-fraud-check"]["lag"] > 100
    assert groups["demo-billing"]["lag"] < 100
    assert len(done("dlq", "list", "--group", "demo-settlement", "-o", "json").json) == told["dead_letters"] == 12
    assert len(done("timer", "list", "--topic", "demo-reminders", "-o", "json").json) == 10
    assert len(done("tx", "list", "--topic", "demo-ledger", "--state", "prepared", "-o", "json").json) == 4
    assert len(done("demo", "--clean", "--dry-run", "-o", "json").json) > 20
    done("demo", "--clean", "--yes")
    for noun in ("topic", "group"):
        assert done(noun, "list", "--internal", "--search", "demo-", "-o", "json").json == []
    assert "nothing of the demo" in done("demo", "--clean", "--yes").err
