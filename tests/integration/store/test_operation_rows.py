"""Samples, the audit log and documents, on both databases."""

from typing import Any

from braidmq.store import AuditAsk, AuditRow, AuditRows, Document, DocumentRows, SampleRow, SampleRows, Store

ANY_TEXT = "any text\0 ünï\U0001f600"


def entry(at_ms: int, **more: Any) -> AuditRow:
    texts: dict[str, Any] = {"node": "n", "actor": "http 10.0.0.1", "protocol": "http", "operation": "create_topic"}
    texts |= {"resource": "topic", "name": "orders", "outcome": "done"} | more
    return AuditRow(at_ms=at_ms, **texts)


async def test_samples_are_read_by_scope_and_time_in_order(store: Store) -> None:
    rows = SampleRows(store)
    samples = [SampleRow(ANY_TEXT, at_ms, {"lag": at_ms / 2}) for at_ms in (30, 10, 20)]
    await rows.add([*samples, SampleRow("other", 20, {"lag": 1.0})], before_ms=0, remove_max=10)
    assert await rows.read(ANY_TEXT, 10, 30, 100) == [samples[1], samples[2]]
    assert await rows.read(ANY_TEXT, 0, 100, 1) == [samples[1]]


async def test_samples_of_many_scopes_are_read_at_once(store: Store) -> None:
    rows = SampleRows(store)
    wanted = [SampleRow(scope, at_ms, {"lag": 1.0}) for scope in ("a", ANY_TEXT) for at_ms in (10, 20)]
    await rows.add([*wanted, SampleRow("a", 30, {}), SampleRow("b", 10, {})], before_ms=0, remove_max=10)
    assert await rows.read_many(["a", ANY_TEXT, "unknown"], 10, 30, 100) == wanted


async def test_a_moment_that_comes_again_changes_nothing_and_costs_nothing_else(store: Store) -> None:
    rows = SampleRows(store)
    await rows.add([SampleRow("a", 1, {"x": 1.0})], before_ms=0, remove_max=10)
    await rows.add([SampleRow("a", 1, {"x": 2.0}), SampleRow("a", 2, {"x": 3.0})], before_ms=0, remove_max=10)
    assert [each.figures["x"] for each in await rows.read("a", 0, 10, 10)] == [1.0, 3.0]


async def test_old_samples_go_the_oldest_first(store: Store) -> None:
    rows = SampleRows(store)
    await rows.add([SampleRow("a", at_ms, {}) for at_ms in range(10)], before_ms=0, remove_max=10)
    assert await rows.add([], before_ms=8, remove_max=3) == 3
    assert [each.at_ms for each in await rows.read("a", 0, 100, 100)] == list(range(3, 10))
    assert await rows.add([], before_ms=8, remove_max=100) == 5


async def test_the_audit_log_is_found_by_text_actor_and_time_the_latest_first(store: Store) -> None:
    rows = AuditRows(store)
    written = [entry(1), entry(2, actor="kafka 10.0.0.2", name="100%_sure"), entry(3, operation="delete_topic")]
    await rows.add(written, before_ms=0)
    found, total = await rows.find(AuditAsk())
    assert ([each.at_ms for each in found], total) == ([3, 2, 1], 3)
    assert [each.at_ms for each in (await rows.find(AuditAsk(search="DELETE")))[0]] == [3]
    assert [each.at_ms for each in (await rows.find(AuditAsk(search="%_s")))[0]] == [2]
    assert [each.at_ms for each in (await rows.find(AuditAsk(actor="KAFKA")))[0]] == [2]
    assert [each.at_ms for each in (await rows.find(AuditAsk(from_ms=2, until_ms=3)))[0]] == [2]
    page, total = await rows.find(AuditAsk(page=2, page_size=2))
    assert ([each.at_ms for each in page], total) == ([1], 3)


async def test_whatever_text_a_client_sent_is_kept_and_old_entries_go(store: Store) -> None:
    rows = AuditRows(store)
    await rows.add([entry(1), entry(5, name="a\0b\ud800")], before_ms=0)
    assert await rows.add([], before_ms=5) == 1
    found, _ = await rows.find(AuditAsk())
    assert [each.name for each in found] == ["a�b?"]


async def test_documents_are_put_found_replaced_and_deleted_within_their_kind(store: Store) -> None:
    rules, others = DocumentRows(store, "rule"), DocumentRows(store, "other")
    await rules.put(Document(ANY_TEXT, 1, b"one"))
    await rules.put(Document(ANY_TEXT, 2, b"two"))
    await others.put(Document(ANY_TEXT, 3, b"three"))
    assert await rules.get(ANY_TEXT) == Document(ANY_TEXT, 2, b"two")
    assert await rules.latest(10) == [Document(ANY_TEXT, 2, b"two")]
    assert await rules.delete(ANY_TEXT)
    assert not await rules.delete(ANY_TEXT)
    assert await others.get(ANY_TEXT) is not None


async def test_only_the_first_of_a_key_is_new_until_it_is_too_old(store: Store) -> None:
    rows = DocumentRows(store, "answer")
    assert await rows.put_new(Document("k", 1, b"one")) is None
    assert await rows.put_new(Document("k", 2, b"two")) == Document("k", 1, b"one")
    assert await rows.put_new(Document("k", 9, b"three"), not_before_ms=5) is None
    assert await rows.get("k") == Document("k", 9, b"three")


async def test_documents_are_trimmed_by_number_and_by_age(store: Store) -> None:
    rows, others = DocumentRows(store, "report"), DocumentRows(store, "other")
    await others.put(Document("0", 0, b""))
    for at_ms in range(10):
        await rows.put(Document(str(at_ms), at_ms, b""))
    assert await rows.trim(keep_max=6) == 4
    assert await rows.trim(keep_max=6) == 0
    assert await rows.trim(before_ms=6) == 2
    assert [each.at_ms for each in await rows.latest(3)] == [9, 8, 7]
    assert await others.get("0") is not None
