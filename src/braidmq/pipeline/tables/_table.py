"""A table in the Delta protocol, written exactly once.

**One commit, one batch.** A commit adds the files of a batch, the offsets that the batch covers, and the number of the
batch, all or nothing. The table is the truth: whoever asks how far a job has come asks the table.

**Fencing.** A driver that starts takes the next epoch of its job with a commit. Each commit is tried for exactly the
next version of the table as it was read, and fails when somebody else was first; then all is read again, and a driver
whose epoch has passed ends with `Fenced`. So two drivers can race, and only the newer one writes.

**Lineage.** Batches are numbered by Spark's checkpoint. A lineage is the life of one checkpoint, named by the epoch
that began it. While the checkpoint fits the table, a new driver goes on in the same lineage, and a batch that the table
has is skipped. When it is lost, or does not fit, a new lineage begins at the offsets that the table ends with.

What a job has reached lies in full in every 32nd commit, and what was added in each: so that the state is found by
reading a few small files, however many partitions there are. The log does not grow for ever: see `_trimming`.
"""

import os
import random
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, CommitProperties, PostCommitHookProperties, RemoveAction, Transaction

from braidmq.pipeline.tables._errors import (
    BusyTable,
    CoverageBroken,
    Fenced,
    FilesGone,
    NewerTable,
    TableError,
    UnlikeTable,
)
from braidmq.pipeline.tables._files import DataFile, sync_file, sync_folder
from braidmq.pipeline.tables._layout import FORMAT_VERSION, VACUUM_LAG, Layout, to_configuration
from braidmq.pipeline.tables._ledger import Ledger
from braidmq.pipeline.tables._ranges import Covered, Range, continue_coverage, joined
from braidmq.pipeline.tables._trimming import LOG_LAG, commit_versions, trim, write_checkpoint

COMMIT_ATTEMPTS: Final = 100
FULL_STATE_EVERY: Final = 32
CHECKPOINT_EVERY: Final = 50
_NO_HOOKS: Final = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
"""After a commit the wheel would write checkpoints of its own, and cut the log behind our back."""
_ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_Metadata = dict[str, Any]
_Plan = tuple[Sequence[DataFile], Sequence["LiveFile"], bool, _Metadata]


class State(msgspec.Struct):
    """How far a job has come, as the table has it."""

    epoch: int = 0
    lineage: int = 0
    batch: int = -1
    """The last batch of the lineage; -1 before the first."""
    covered: Covered = msgspec.field(default_factory=Covered)
    topic_ids: dict[str, str] = {}
    """The id that the brokers gave each topic, where they give one: a topic made anew has another."""


class LiveFile(msgspec.Struct, frozen=True):
    """A file that is part of the table now."""

    path: str
    size: int
    rows: int
    partition: dict[str, Any]
    low: dict[str, Any]
    high: dict[str, Any]
    added_ms: int = 0
    """When it became part of the table."""


class Commit(msgspec.Struct, frozen=True):
    """What one version of the table brought."""

    version: int
    kind: str
    """`claim`, `append`, `replace`, or what else a writer calls it; empty when another program committed."""
    app: str = ""
    epoch: int = 0
    lineage: int = 0
    batch: int = -1
    ranges: tuple[Range, ...] = ()
    topic_ids: dict[str, str] = {}
    """Of topics that it was the first to bring anything of, or that were made anew before it."""
    notes: dict[str, Any] = {}


class Run(msgspec.Struct, frozen=True):
    """One driver's right to write: what a stream's writer needs as options, and where the stream begins."""

    app: str
    epoch: int
    lineage: int
    checkpoint: str
    resumes: dict[str, dict[str, int]]
    """The next offset of each partition, for a stream without a checkpoint; empty when nothing was written yet."""
    fresh: bool
    """Whether the checkpoint is new."""

    def options(self) -> dict[str, str]:
        """For a writer of the format `braid-table`."""
        return {"app": self.app, "epoch": str(self.epoch), "lineage": str(self.lineage)}


class Table:
    """A table at a path of a local or mounted file system. It is made where there is none.

    Raises NewerTable for a table of a version that this program does not know, and UnlikeTable where the columns differ
    in more than that the table lacks columns of a newer version: those are added.
    """

    def __init__(
        self,
        path: str | Path,
        schema: pa.Schema,
        partition_by: Sequence[str] = (),
        *,
        bloom: Sequence[str] = (),
        statistics: Sequence[str] = (),
        sort_by: Sequence[str] = (),
        schema_version: int = 1,
    ) -> None:
        self.path = _local(path)
        self.schema = schema
        self.layout = Layout(tuple(partition_by), tuple(bloom), tuple(statistics), tuple(sort_by), schema_version)
        self._known: tuple[int, dict[str, State], int] | None = None
        self._create()
        self._adopt()

    @classmethod
    def open(cls, path: str | Path) -> "Table":
        """The table that is there. Raises TableError where there is none."""
        found = _local(path)
        try:
            delta = DeltaTable(str(found))
        except TableNotFoundError:
            raise TableError(f"there is no table at {found}") from None
        table = cls.__new__(cls)
        table.path = found
        table._known = None
        table.layout = _layout_of(delta, found)
        table.schema = _arrow_schema(delta)
        return table

    @staticmethod
    def exists(path: str | Path) -> bool:
        return DeltaTable.is_deltatable(str(_local(path)))

    def _create(self) -> None:
        if DeltaTable.is_deltatable(str(self.path)):
            return
        self.path.mkdir(parents=True, exist_ok=True)
        DeltaTable.create(
            str(self.path),
            self.schema,
            mode="ignore",
            partition_by=list(self.layout.partition_by),
            configuration=to_configuration(self.layout),
            raise_if_key_not_exists=False,
        )
        self._sync(0)

    def _adopt(self) -> None:
        """Takes a table that is there for one of this schema, or refuses it."""
        delta = DeltaTable(str(self.path))
        found = _layout_of(delta, self.path)
        if found.schema_version > self.layout.schema_version:
            raise NewerTable(
                f"the table at {self.path} has schema version {found.schema_version}, and this program knows "
                f"{self.layout.schema_version}; use the version that wrote it, or a newer one"
            )
        if found.partition_by != self.layout.partition_by:
            raise UnlikeTable(f"the table at {self.path} is partitioned by {found.partition_by}")
        wanted = Schema.from_arrow(self.schema)
        present = {field.name: field for field in delta.schema().fields}
        for field in wanted.fields:
            if field.name in present and present[field.name].type != field.type:
                raise UnlikeTable(
                    f"column {field.name} of the table at {self.path} has type {present[field.name].type}"
                )
        missing = [field for field in wanted.fields if field.name not in present]
        if missing:
            self._widen(delta, found, missing)
        elif set(present) - {field.name for field in wanted.fields}:
            raise UnlikeTable(f"the table at {self.path} has columns that were not named: {sorted(present)}")
        elif found.schema_version < self.layout.schema_version:
            # Who widened it was cut off before it could say so.
            self._configure()

    def _widen(self, delta: DeltaTable, found: Layout, missing: list[Field]) -> None:
        names = [field.name for field in missing]
        if found.schema_version == self.layout.schema_version or not all(field.nullable for field in missing):
            raise UnlikeTable(f"the table at {self.path} lacks the columns {names}")
        delta.alter.add_columns(missing, post_commithook_properties=_NO_HOOKS)
        self._configure()

    def _configure(self) -> None:
        DeltaTable(str(self.path)).alter.set_table_properties(
            to_configuration(self.layout), raise_if_not_exists=False, post_commithook_properties=_NO_HOOKS
        )

    # What is there.

    @property
    def version(self) -> int:
        return DeltaTable(str(self.path)).version()

    def files(self, where: Mapping[str, Any] | None = None) -> list[LiveFile]:
        """The files of the table now; of some partitions, where their values are named."""
        return _live_files(DeltaTable(str(self.path)), where or {})

    def state(self, app: str) -> State:
        return self._states(self.version).get(app, State())

    def commits(self, since: int = 0) -> Iterator[Commit]:
        """What versions brought, oldest first: from the ledger those that said something, then all from the log."""
        ledger, following, gone = Ledger(self.path), since, -1
        while True:
            for version, metadata in ledger.read(following):
                yield _as_commit(version, metadata)
                following = version + 1
            following = max(following, ledger.end())
            if gone >= following:
                raise TableError(f"neither the log nor the ledger of the table at {self.path} has version {gone}")
            for version in commit_versions(self.path / "_delta_log"):
                if version < following:
                    continue
                found = self.metadata(version)
                if found is None:
                    # The log was cut meanwhile: the ledger has it now.
                    gone = version
                    break
                yield _as_commit(version, found)
                following = version + 1
            else:
                return

    def unknown_commits(self) -> tuple[int, int] | None:
        """Versions that neither log nor ledger has any more, the first of them: from, and to before."""
        versions = commit_versions(self.path / "_delta_log")  # before the ledger, into which they may just be going
        following = 0
        for start, end in [*Ledger(self.path).runs(), *((version, version + 1) for version in versions)]:
            if start > following:
                return following, start
            following = max(following, end)
        return None

    def last_partitions(self, app: str) -> list[dict[str, str | None]]:
        """Those that the job's last batch has added rows to, as far as the log goes back."""
        for version in reversed(commit_versions(self.path / "_delta_log")):
            metadata = self.metadata(version) or {}
            if metadata.get("kind") == "append" and metadata.get("app") == app:
                return self._added_to(version)
        return []

    def _added_to(self, version: int) -> list[dict[str, str | None]]:
        lines = (self.path / "_delta_log" / f"{version:020d}.json").read_bytes().splitlines()
        return [msgspec.json.decode(line)["add"]["partitionValues"] for line in lines if line.startswith(b'{"add"')]

    def metadata(self, version: int) -> _Metadata | None:
        """What a writer of this house wrote into a commit; None where the commit is gone, or another program's."""
        try:
            lines = (self.path / "_delta_log" / f"{version:020d}.json").read_bytes().splitlines()
        except FileNotFoundError:
            return None
        for line in lines:
            if line.startswith(b'{"commitInfo"'):
                found = msgspec.json.decode(line)["commitInfo"].get("braid")
                return found if isinstance(found, dict) else {}
        return {}

    def _states(self, version: int) -> dict[str, State]:
        """Goes back to the last commit with a full state, then applies what came after."""
        later: list[_Metadata] = []
        states: dict[str, State] = {}
        since = 0
        number = -1
        known_version = -1 if self._known is None else self._known[0]
        for number in range(version, -1, -1):
            if number == known_version and self._known is not None:
                states, since = self._known[1], self._known[2]
                break
            metadata = self.metadata(number)
            if metadata is None:
                raise TableError(
                    f"the log of the table at {self.path} lacks version {number}, and with it its jobs' state"
                )
            if "state" in metadata:
                states = {app: _from_plain(plain) for app, plain in metadata["state"].items()}
                break
            if metadata:
                later.append(metadata)
        for metadata in reversed(later):
            _apply(states, _as_commit(0, metadata))
        # Commits of others count as well: they, too, have to be gone through.
        self._known = version, states, since + version - number
        return states

    # What changes it.

    def claim(self, app: str, *, anew: bool = False, remade: Mapping[str, str] | None = None) -> int:
        """Takes the next epoch of a job: who held the last one can write no more. Its lineage goes on, unless it is to
        begin `anew`: then it has the number of the epoch. Topics that were `remade` are covered no longer, and have
        these ids from now on."""
        taken = 0

        def plan(states: dict[str, State], _: DeltaTable) -> _Plan:
            nonlocal taken
            state = states.get(app, State())
            taken = state.epoch + 1
            lineage = taken if anew or not state.lineage else state.lineage
            metadata: _Metadata = {"kind": "claim", "app": app, "epoch": taken, "lineage": lineage}
            if remade:
                metadata["topic_ids"] = dict(remade)
            return [], [], False, metadata

        self._commit(plan)
        return taken

    def begin(
        self, app: str, checkpoints: str | Path, *, source: str = "", topic_ids: Mapping[str, str] | None = None
    ) -> Run:
        """A driver's start: takes the next epoch, and chooses between the checkpoint that fits the table and a new one
        that begins where the table ends. A checkpoint of another `source`, say of other topics, does not fit. Topics
        whose ids are others than the table knows were made anew: they begin at their beginning."""
        folder = _local(checkpoints)
        epoch = self.claim(app)
        # From here on no other driver writes, so that what the table has now is what it will have at the first batch.
        state = self.state(app)
        known = state.topic_ids
        remade = {name: each for name, each in (topic_ids or {}).items() if each and known.get(name, each) != each}
        fresh = bool(remade) or not _fits(folder / f"{app}-{state.lineage}", state.batch, source)
        if remade or (fresh and state.lineage != epoch):
            epoch = self.claim(app, anew=True, remade=remade)
            state = self.state(app)
        checkpoint = folder / f"{app}-{state.lineage}"
        if fresh:
            shutil.rmtree(checkpoint, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
            _source_file(checkpoint).write_text(source)
        return Run(app, epoch, state.lineage, str(checkpoint), state.covered.offsets(), fresh)

    def append(
        self,
        files: Sequence[DataFile],
        ranges: Iterable[Range],
        app: str,
        epoch: int,
        batch: int,
        *,
        lineage: int | None = None,
        holes: bool = False,
        topic_ids: Mapping[str, str] | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> int | None:
        """Adds a batch, and gives the table's new version; None when the table has the batch already. Ids of topics are
        kept with the first batch that names them.

        Raises Fenced when a newer driver has begun, and CoverageBroken when the batch does not continue what is there.
        """
        pieces = joined(ranges)

        def plan(states: dict[str, State], _: DeltaTable) -> _Plan | None:
            state = states.get(app, State())
            self._check_epoch(app, epoch, state)
            chosen = state.lineage if lineage is None else lineage
            covered = Covered(state.covered.intervals)
            if chosen == state.lineage and batch <= state.batch:
                absent = [piece for piece in pieces if not covered.holds(piece)]
                if absent:
                    raise CoverageBroken(
                        f"the table has batch {batch} of {app}, but not {absent[0].topic}-{absent[0].partition} "
                        f"{absent[0].start} to {absent[0].end}; remove the checkpoint, and start the job anew"
                    )
                return None
            if not continue_coverage(covered, pieces, holes=holes):
                return None
            metadata: _Metadata = {
                "kind": "append",
                "app": app,
                "epoch": epoch,
                "lineage": chosen,
                "batch": batch,
                "ranges": msgspec.to_builtins(pieces),
            }
            if first_seen := {name: each for name, each in (topic_ids or {}).items() if name not in state.topic_ids}:
                metadata["topic_ids"] = first_seen
            if notes:
                metadata["notes"] = dict(notes)
            return files, [], True, metadata

        return self._commit(plan)

    def replace(
        self,
        files: Sequence[DataFile],
        *,
        remove: Sequence[LiveFile] | None = None,
        where: Mapping[str, Any] | None = None,
        app: str,
        epoch: int | None = None,
        data_change: bool = True,
        kind: str = "replace",
        notes: Mapping[str, Any] | None = None,
    ) -> int | None:
        """Puts files in the place of others in one commit: of those named (`remove`), or of all in the partitions that
        `where` names. Without `data_change` it says that the rows stay the same, as after compaction.

        Raises FilesGone when somebody else has taken one of the named files away.
        """

        def plan(states: dict[str, State], delta: DeltaTable) -> _Plan | None:
            if epoch is not None:
                self._check_epoch(app, epoch, states.get(app, State()))
            gone = _live_files(delta, where or {}) if remove is None else list(remove)
            if remove is not None:
                present = {file.path for file in _live_files(delta, {})}
                lost = [file.path for file in gone if file.path not in present]
                if lost:
                    raise FilesGone(f"no longer part of the table at {self.path}: {lost[0]}, {len(lost)} in all")
            if not files and not gone:
                return None
            metadata: _Metadata = {"kind": kind, "app": app}
            if notes:
                metadata["notes"] = dict(notes)
            return files, gone, data_change, metadata

        return self._commit(plan)

    def check_epoch(self, app: str, epoch: int) -> None:
        """Raises Fenced when a newer driver has begun."""
        self._check_epoch(app, epoch, self.state(app))

    def _check_epoch(self, app: str, epoch: int, state: State) -> None:
        if epoch < state.epoch:
            raise Fenced(
                f"{app} at {self.path} was taken over: this driver has epoch {epoch}, the table has {state.epoch}"
            )
        if epoch > state.epoch:
            raise TableError(f"epoch {epoch} of {app} at {self.path} was never claimed; the table has {state.epoch}")

    def _commit(self, plan: Callable[[dict[str, State], DeltaTable], _Plan | None]) -> int | None:
        for attempt in range(COMMIT_ATTEMPTS):
            delta = DeltaTable(str(self.path))
            _layout_of(delta, self.path)
            states = self._states(delta.version())
            planned = plan(states, delta)
            if planned is None:
                return None
            version = delta.version() + 1
            if self._write(delta, version, states, planned):
                return version
            time.sleep(random.uniform(0, 0.002 * min(attempt + 1, 25)))  # noqa: S311
        raise BusyTable(f"{COMMIT_ATTEMPTS} attempts to commit to {self.path} came second")

    def _write(self, delta: DeltaTable, version: int, states: dict[str, State], planned: _Plan) -> bool:
        """Writes exactly this version; says whether it is ours."""
        added, removed, data_change, metadata = planned
        token = secrets.token_hex(8)
        metadata = {"format": FORMAT_VERSION, "token": token, **metadata}
        if self._known is not None and self._known[2] >= FULL_STATE_EVERY:
            after = {app: _from_plain(_to_plain(state)) for app, state in states.items()}
            _apply(after, _as_commit(version, metadata))
            metadata["state"] = {app: _to_plain(state) for app, state in after.items()}
        now_ms = int(time.time() * 1000)
        actions: list[AddAction | RemoveAction] = [
            AddAction(file.path, file.size, file.partition, now_ms, data_change, file.statistics()) for file in added
        ]
        actions += [RemoveAction(file.path, data_change, now_ms, file.size) for file in removed]
        try:
            delta.create_write_transaction(
                actions,
                "append",
                delta.schema(),
                list(self.layout.partition_by),
                commit_properties=CommitProperties(
                    custom_metadata={"braid": metadata}, max_commit_retries=0, app_transactions=_transactions(metadata)
                ),
                post_commithook_properties=_NO_HOOKS,
            )
        except (DeltaError, OSError):
            # Only the log itself says whether the commit happened: another's, ours after all, or none.
            found = self.metadata(version)
            if found is None:
                raise
            if found.get("token") != token:
                return False
        self._sync(version)
        if version % CHECKPOINT_EVERY == 0:
            write_checkpoint(self.path)
        return True

    def _sync(self, version: int) -> None:
        """A commit counts when it is on disk: the wheel that writes it leaves that to the system."""
        log = self.path / "_delta_log"
        sync_file(log / f"{version:020d}.json")
        sync_folder(log)
        sync_folder(self.path)

    def vacuum(self, lag: timedelta = VACUUM_LAG) -> list[str]:
        """Removes files that are not part of the table for at least so long: left by batches that were cut off, or
        replaced by others. Gives their paths."""
        removed = self._without_owner(lag)
        if removed:
            # It writes two commits of its own, so it is asked only where something is left to remove.
            _vacuum(DeltaTable(str(self.path)), lag, dry_run=False)
        oldest = time.time() - lag.total_seconds()
        for path in self.path.rglob(".*.writing"):
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)
                removed.append(str(path.relative_to(self.path)))
        return removed

    def _without_owner(self, lag: timedelta) -> list[str]:
        """Files that are there, and not part of the table for so long. The log also remembers some that are gone."""
        found = [self.path / path for path in _vacuum(DeltaTable(str(self.path)), lag, dry_run=True)]
        return [str(path.relative_to(self.path)) for path in found if path.exists()]

    def trim(self, lag: timedelta = LOG_LAG) -> int:
        """Cuts the log: gives how many commits it had that were older. What they said is kept."""
        self._forbid_cleanup()
        return trim(self, lag)

    def _forbid_cleanup(self) -> None:
        """Tables of an older version do not say yet that nobody else may cut their log."""
        delta = DeltaTable(str(self.path))
        wanted = to_configuration(_layout_of(delta, self.path))
        present = delta.metadata().configuration
        if any(present.get(name) != value for name, value in wanted.items()):
            delta.alter.set_table_properties(wanted, raise_if_not_exists=False, post_commithook_properties=_NO_HOOKS)


def _vacuum(delta: DeltaTable, lag: timedelta, *, dry_run: bool) -> list[str]:
    return delta.vacuum(
        retention_hours=max(0, int(lag.total_seconds() // 3600)),
        dry_run=dry_run,
        enforce_retention_duration=False,
        full=True,
        post_commithook_properties=_NO_HOOKS,
    )


def _local(path: str | Path) -> Path:
    text = str(path).removeprefix("file://")
    if _ADDRESS.match(text):
        raise TableError(f"{path}: tables lie in a local or mounted file system; object stores are not served")
    return Path(text).absolute()


def _layout_of(delta: DeltaTable, path: Path) -> Layout:
    configuration = delta.metadata().configuration
    if "braid.format" not in configuration:
        raise UnlikeTable(f"the table at {path} was not made by this program")
    if int(configuration["braid.format"]) > FORMAT_VERSION:
        raise NewerTable(
            f"the table at {path} has format {configuration['braid.format']}, and this program knows {FORMAT_VERSION}; "
            "use the version that wrote it, or a newer one"
        )
    return msgspec.json.decode(configuration["braid.layout"], type=Layout)


def _arrow_schema(delta: DeltaTable) -> pa.Schema:
    return pa.schema(delta.schema().to_arrow())


def _fits(checkpoint: Path, batch: int, source: str) -> bool:
    """Whether Spark can go on from a checkpoint: its last planned batch is the table's last or the one after, and it
    holds none for done that the table does not have."""
    planned, done = (_newest(checkpoint / name) for name in ("offsets", "commits"))
    fits = done <= batch <= planned and (checkpoint / "metadata").exists()
    return fits and _source_file(checkpoint).read_text() == source


def _source_file(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.source")


def _newest(folder: Path) -> int:
    try:
        return max((int(name) for name in os.listdir(folder) if name.isdigit()), default=-1)
    except FileNotFoundError:
        return -1


def _live_files(delta: DeltaTable, where: Mapping[str, Any]) -> list[LiveFile]:
    rows = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
    result = []
    for row in rows:
        partition: dict[str, Any] = {}
        low: dict[str, Any] = {}
        high: dict[str, Any] = {}
        for name, value in row.items():
            kind, dot, column = name.partition(".")
            if dot and kind in ("partition", "min", "max"):
                {"partition": partition, "min": low, "max": high}[kind][column] = value
        if all(_matches(partition.get(name), wanted) for name, wanted in where.items()):
            added_ms = row["modification_time"]
            result.append(LiveFile(row["path"], row["size_bytes"], row["num_records"], partition, low, high, added_ms))
    return result


def _matches(value: Any, wanted: Any) -> bool:
    choices = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    return any(value == choice or str(value) == str(choice) for choice in choices)


def _transactions(metadata: _Metadata) -> list[Transaction]:
    """Delta's own words for the same: other programs that read the table see how far a job has come."""
    if "epoch" not in metadata:
        return []
    found = [Transaction(metadata["app"], metadata["epoch"])]
    if "batch" in metadata:
        found.append(Transaction(f"{metadata['app']}/{metadata['lineage']}", metadata["batch"]))
    return found


def _as_commit(version: int, metadata: _Metadata) -> Commit:
    return Commit(
        version=version,
        kind=metadata.get("kind", ""),
        app=metadata.get("app", ""),
        epoch=metadata.get("epoch", 0),
        lineage=metadata.get("lineage", 0),
        batch=metadata.get("batch", -1),
        ranges=msgspec.convert(metadata.get("ranges", ()), tuple[Range, ...]),
        topic_ids=metadata.get("topic_ids", {}),
        notes=metadata.get("notes", {}),
    )


def _apply(states: dict[str, State], commit: Commit) -> None:
    if commit.kind == "claim":
        state = states.setdefault(commit.app, State())
        if commit.lineage != state.lineage:
            state.batch = -1
        state.epoch, state.lineage = commit.epoch, commit.lineage
        state.topic_ids = state.topic_ids | commit.topic_ids
        state.covered = state.covered.without(commit.topic_ids)
    elif commit.kind == "append":
        state = states.setdefault(commit.app, State())
        state.lineage, state.batch = commit.lineage, commit.batch
        state.topic_ids = state.topic_ids | commit.topic_ids
        for piece in commit.ranges:
            state.covered.add(piece)


def _to_plain(state: State) -> _Metadata:
    return {
        "epoch": state.epoch,
        "lineage": state.lineage,
        "batch": state.batch,
        "covered": state.covered.to_plain(),
        "topic_ids": state.topic_ids,
    }


def _from_plain(plain: _Metadata) -> State:
    covered = Covered.from_plain(plain["covered"])
    return State(plain["epoch"], plain["lineage"], plain["batch"], covered, dict(plain.get("topic_ids", {})))
