import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archive_support import TIME, Archived, of_version_1, row
from braidmq.pipeline.archive import (
    Folders,
    Found,
    Searcher,
    SearchFailed,
    SearchTimeout,
    close_searchers,
    compact,
    find,
)
from braidmq.pipeline.archive._hashing import ID, KEY, hash_of, hashes
from braidmq.pipeline.archive._index import Index, drop_dead_segments, merge_segments
from braidmq.pipeline.archive._lookup import Lookup, Question
from braidmq.pipeline.audit import audit
from braidmq.pipeline.errors import InvalidOption
from braidmq.pipeline.tables import TableError

WORDS = st.sampled_from(["a", "b", "ab", "abcdefgh", "abcdefghi", "", "ü", "x" * 400, "x" * 401])


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), WORDS, st.text(max_size=40)), max_size=50), st.integers(0, 10))
def test_a_text_has_the_same_hash_wherever_it_lies(texts: list[str | None], skipped: int) -> None:
    found = hashes(pa.array(texts, pa.string())[skipped:], ID)
    expected = [hash_of(text, ID) if text is not None else None for text in texts[skipped:]]
    assert [each if want is not None else None for each, want in zip(found, expected, strict=True)] == expected


def test_hashes_of_many_texts_differ() -> None:
    texts = pa.array([f"order-{number:09d}" for number in range(200_000)])
    assert len(np.unique(np.concatenate([hashes(texts, ID), hashes(texts, KEY)]))) == 400_000


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "topic": st.sampled_from(["orders", "payments", "stock"]),
            "instance": st.sampled_from(["default", "retail"]),
            "message_id": st.one_of(st.none(), WORDS),
            "keys": st.one_of(st.none(), st.lists(st.one_of(st.none(), WORDS), max_size=3)),
            "second": st.integers(0, 200_000),
        }
    ),
    min_size=1,
    max_size=25,
)
STEPS = st.lists(st.tuples(ROWS, st.booleans()), min_size=1, max_size=4)
QUESTIONS = st.lists(
    st.builds(
        Question,
        id=st.one_of(st.none(), WORDS),
        key=st.one_of(st.none(), WORDS),
        topic=st.one_of(st.none(), st.sampled_from(["orders", "payments", "none"])),
        instance=st.one_of(st.none(), st.sampled_from(["default", "retail", "none"])),
        start=st.one_of(st.none(), st.integers(0, 200_000).map(lambda second: TIME + timedelta(seconds=second))),
        end=st.one_of(st.none(), st.integers(0, 200_000).map(lambda second: TIME + timedelta(seconds=second))),
        limit=st.integers(1, 40),
    ),
    min_size=1,
    max_size=8,
)


def brute_force(rows: list[dict[str, Any]], question: Question) -> list[tuple[Any, ...]]:
    kept = [
        each
        for each in rows
        if (question.id is None or each["message_id"] == question.id)
        and (question.key is None or question.key in (each["keys"] or ()))
        and (question.topic is None or each["topic"] == question.topic)
        and (question.instance is None or each["instance"] == question.instance)
        and (question.start is None or each["store_time"] >= question.start)
        and (question.end is None or each["store_time"] < question.end)
    ]
    places = [(each["store_time"], each["topic"], each["partition"], each["offset"]) for each in kept]
    return sorted(places)[: question.limit]


def place(found: Found) -> tuple[Any, ...]:
    return found.store_time, found.topic, found.partition, found.offset


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS, QUESTIONS, st.booleans())
def test_the_index_answers_as_a_search_through_everything_does(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[list[dict[str, Any]], bool]],
    questions: list[Question],
    merged: bool,
) -> None:
    archive = Archived(tmp_path_factory.mktemp("archive"))
    everything: list[dict[str, Any]] = []
    ends: dict[str, int] = {}
    for drawn, indexed in steps:
        batch = []
        for each in drawn:
            offset = ends[each["topic"]] = ends.get(each["topic"], -1) + 1
            time = TIME + timedelta(seconds=each["second"])
            names = {name: each[name] for name in ("instance", "message_id", "keys")}
            batch.append(row(each["topic"], 0, offset, store_time=time, **names))
        archive.add(batch, indexed=indexed)
        everything += batch
    if merged:
        merge_segments(Folders(archive.path).index, [file.path for file in archive.table.files()], at_least=1)
    lookup = Lookup(archive.path)
    for question in questions:
        assert [place(each) for each in lookup.find(question)] == brute_force(everything, question)


def test_a_message_is_found_whole_and_at_once_after_its_commit(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    archive.add([row("orders", 0, offset) for offset in range(100)])
    with Searcher(tmp_path) as searcher:
        (found,) = searcher.find(id="orders-0-42")
        assert found.value == b"orders 0 42"
        assert found.headers == {"a": b"1"}
        assert found.store_time == TIME + timedelta(seconds=42)
        assert searcher.find(id="orders-0-100") == []
        archive.add([row("orders", 0, offset) for offset in range(100, 200)])
        assert [each.offset for each in searcher.find(id="orders-0-100")] == [100]
        archive.add([row("orders", 0, 200, keys=["late"])], indexed=False)
        assert [each.offset for each in searcher.find(key="late")] == [200]


def test_a_topic_and_a_time_are_searched(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    archive.add([row(topic, 0, offset) for topic in ("orders", "stock") for offset in range(300)])
    start, end = TIME + timedelta(seconds=10), TIME + timedelta(seconds=15)
    found = find(tmp_path, topic="orders", start=start, end=end)
    assert [each.offset for each in found] == [10, 11, 12, 13, 14]
    assert [each.offset for each in find(tmp_path, topic="orders", limit=3)] == [0, 1, 2]
    naive = datetime(2026, 1, 2, 3, 4, 15)  # noqa: DTZ001
    assert [each.offset for each in find(tmp_path, topic="stock", start=naive, limit=1)] == [10]
    close_searchers()


def test_what_a_user_says_is_never_a_part_of_a_statement(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    odd = "x' OR true; SELECT * FROM read_text('/etc/passwd') --"
    archive.add([row("orders", 0, 0), row("orders", 0, 1, message_id=odd, keys=[odd])])
    with Searcher(tmp_path) as searcher:
        assert [each.offset for each in searcher.find(id=odd)] == [1]
        assert [each.offset for each in searcher.find(key=odd)] == [1]
        assert searcher.find(id=odd + "'") == []


def test_the_worker_reads_nothing_but_the_archive(tmp_path: Path) -> None:
    archive = Archived(tmp_path / "archive")
    archive.add([row("orders", 0, 0)])
    (tmp_path / "secret.csv").write_text("a\n1\n")
    connection = Lookup(archive.path)._connection
    for statement in (
        f"FROM read_csv('{tmp_path}/secret.csv')",
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ):
        with pytest.raises(Exception, match=r"(?i)disabled|locked|permission"):
            connection.execute(statement)


def test_a_search_that_takes_too_long_is_ended_and_the_next_one_works(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    archive.add([row("orders", 0, offset) for offset in range(100)])
    with Searcher(tmp_path) as searcher:
        assert len(searcher.find(topic="orders")) == 100
        with pytest.raises(SearchTimeout, match="no answer within 0 s"):
            searcher.find(topic="orders", timeout_s=0.0)
        assert len(searcher.find(topic="orders")) == 100


def test_a_worker_that_was_killed_is_replaced(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    archive.add([row("orders", 0, 0)])
    with Searcher(tmp_path) as searcher:
        searcher.find(topic="orders")
        assert searcher._process is not None
        searcher._process.kill()
        searcher._process.wait()
        assert len(searcher.find(topic="orders")) == 1


def test_a_damaged_file_is_an_error_and_not_an_empty_answer(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    archive.add([row("orders", 0, 0)])
    (file,) = archive.table.files()
    (archive.table.path / file.path).write_bytes(b"damaged")
    with Searcher(tmp_path) as searcher, pytest.raises(SearchFailed):
        searcher.find(topic="orders")


def test_questions_that_cannot_be_answered_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no archive"):
        find(tmp_path / "nothing", id="x")
    Archived(tmp_path)
    with Searcher(tmp_path) as searcher:
        with pytest.raises(InvalidOption, match="an id, a key, or a topic"):
            searcher.find()
        with pytest.raises(InvalidOption, match="1 to 1000"):
            searcher.find(id="x", limit=1001)


def test_a_broken_segment_costs_time_and_no_answer(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    archive.add([row("orders", 0, offset) for offset in range(10)])
    (segment,) = Folders(tmp_path).index.glob("*.index")
    segment.write_bytes(segment.read_bytes()[:-5])
    assert [each.offset for each in Lookup(tmp_path).find(Question(id="orders-0-3"))] == [3]


def test_segments_are_merged_and_dead_ones_dropped(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    for number in range(20):
        archive.add([row("orders", 0, offset) for offset in range(number * 5, number * 5 + 5)])
    folder = Folders(tmp_path).index
    live = [file.path for file in archive.table.files()]
    assert merge_segments(folder, live) == 20
    index = Index(folder)
    index.refresh()
    assert len(index.segments) == 1
    assert index.covered() == set(live)
    chance = random.Random(1)
    for offset in chance.sample(range(100), 10):
        assert [each.offset for each in Lookup(tmp_path).find(Question(id=f"orders-0-{offset}"))] == [offset]
    assert drop_dead_segments(folder, live, older_than_s=0, now_s=datetime.now(UTC).timestamp() + 10) == 0
    assert drop_dead_segments(folder, [], older_than_s=0, now_s=datetime.now(UTC).timestamp() + 10) == 1


def test_headers_that_repeat_are_found_whole_beside_files_from_before_they_were_kept(tmp_path: Path) -> None:
    of_version_1(tmp_path, [row("orders", 0, offset) for offset in range(10)])
    assert len(find(tmp_path, topic="orders")) == 10, "an archive that no newer program has written to"
    close_searchers()
    archive = Archived(tmp_path)
    twice = [("a", b"1"), ("a", b"2"), ("b", None)]
    pairs = [{"name": name, "value": value} for name, value in twice]
    archive.add([row("orders", 0, 10, repeated_headers=pairs), row("orders", 0, 11)])
    for _ in range(2):
        by_id = [find(tmp_path, id=f"orders-0-{offset}")[0].repeated_headers for offset in (3, 10, 11)]
        assert by_id == [None, twice, None]
        by_topic = [each.repeated_headers for each in find(tmp_path, topic="orders")]
        assert by_topic == [None] * 10 + [twice, None]
        compact(str(tmp_path), now=TIME + timedelta(hours=3))
    assert len(archive.table.files()) == 1
    assert audit(tmp_path).findings == []
