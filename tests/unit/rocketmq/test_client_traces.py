"""What RocketMQ's clients tell of themselves in their trace topic."""

from braidmq.protocols.rocketmq._client_traces import read_traces


def test_what_clients_tell_is_read_and_what_cannot_be_read_is_passed_over() -> None:
    records = [
        ["Pub", "1000", "R", "pg", "orders", "m", "tag", "k", "h:1", "3", "7", "0", "OID", "true", "10.0.0.1"],
        ["SubBefore", "1010", "R", "cg", "req", "m", "2", "k"],
        ["SubAfter", "req", "m", "4", "false", "k", "0", "1020", "cg"],
        ["SubAfter", "req", "m", "4", "true", "k", "0"],
        ["EndTransaction", "1030", "R", "pg", "orders", "m", "", "", "h", "2", "tx", "COMMIT_MESSAGE", "false"],
        ["Recall", "1040", "R", "pg", "orders", "m", "true"],
        ["Pub", "not a time"],
        ["Something", "else"],
    ]
    text = "\x02".join("\x01".join(record) for record in records)
    told = [(event.kind.value, event.at_ms, event.group, event.value) for event in read_traces(text, 2000)]
    assert told == [
        ("client_sent", 1000, "pg", 7),
        ("client_began", 1010, "cg", 2),
        ("client_finished", 1020, "cg", -1),
        ("client_finished", 2000, "", 4),
        ("client_ended", 1030, "pg", 1),
        ("client_recalled", 1040, "pg", 1),
    ]
