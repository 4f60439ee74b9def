"""One node, from settings to ready, and back.

What was opened is kept on a stack, and stopping unwinds it: listeners first, the data folder last. A start that fails
half way unwinds what it had opened in the same way.
"""

import asyncio
import contextlib
import importlib
import os
import shutil
import socket
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from braidmq.core.admission import Admissions
from braidmq.core.central import central_values
from braidmq.core.connections import Connections
from braidmq.core.counters import Counters
from braidmq.core.credentials import Credentials
from braidmq.core.cursors import SECRET_BYTES, CursorLimits, Cursors
from braidmq.core.deferral import Rows
from braidmq.core.delivery import Delivery
from braidmq.core.group_offsets import GroupOffsets, ResetBoard
from braidmq.core.groups import GroupLimits, Groups, Migration
from braidmq.core.halves import HALVES_TOPIC, Halves, WaitingRoom
from braidmq.core.health import Health
from braidmq.core.lite import Lite, LiteLimits
from braidmq.core.locks import PartitionLocks
from braidmq.core.members import Members
from braidmq.core.metrics import Metric, MetricSource
from braidmq.core.presence import Presence
from braidmq.core.publish import Publisher, PublishLimits
from braidmq.core.pull import Puller
from braidmq.core.query import IndexLimits, Query
from braidmq.core.questions import Questions
from braidmq.core.quotas import Quotas
from braidmq.core.retry import DeadLetters, Retries
from braidmq.core.telemetry import Inlet, LagSampler, Overheard, Telemetry, Usage
from braidmq.core.timers import Timers
from braidmq.core.timing import LoopClock
from braidmq.core.topics import Topics
from braidmq.core.trace import Lives, Timelines, Trace, Tracer
from braidmq.core.transactions import Transactions
from braidmq.log.embedded import EmbeddedLog, LogOptions, RealDisk, Recovery, make_folder
from braidmq.logger import get_logger
from braidmq.model import BraidError, Half
from braidmq.model.errors import DataFolderUnusable
from braidmq.model.topic_settings import ARCHIVE, SEGMENT_BYTES, TopicSetting
from braidmq.node._cluster import cluster_id
from braidmq.node._collector import tune_collector
from braidmq.node._holds import Holds
from braidmq.node._listeners import LOG_FOLDER_NAME, ROCKETMQ, make_listeners
from braidmq.node._memory import MemoryReturn
from braidmq.node._metrics import held_metrics, log_metrics, node_metrics
from braidmq.node._obedience import half_limits
from braidmq.node._operations_desk import OperationsDesk
from braidmq.node._reconcile import reconcile
from braidmq.node._said import kafka_speech
from braidmq.protocols.listener import Address, Listener, bind, bound_addresses, close_all
from braidmq.protocols.refusals import Refusals
from braidmq.settings import Settings, effective, file_limits, files_needed, known_origins, shared_files
from braidmq.store import (
    Catalog,
    CursorRows,
    GroupStates,
    HalfRows,
    Store,
    TimerRows,
    TraceRows,
    TransactionRows,
    cluster_secret,
)

if TYPE_CHECKING:
    from braidmq.core.desk.catalogue import Catalogue
    from braidmq.core.desk.messaging import MessagingDesk
    from braidmq.protocols.rocketmq import BrokerFacts

HTTP: Final = "http"
QUERY_FOLDER_NAME = "query"

T = TypeVar("T")

_logger = get_logger(__name__)


class Node:
    """A running node. Made by `start`."""

    log: EmbeddedLog
    catalog: Catalog
    topics: Topics
    transactions: Transactions
    groups: Groups
    timers: Timers
    halves: Halves
    publisher: Publisher
    puller: Puller
    cursors: Cursors
    lite: Lite
    members: Members
    questions: Questions
    presence: Presence
    quotas: Quotas
    credentials: Credentials
    counters: Counters
    retries: Retries
    dead_letters: DeadLetters
    locks: PartitionLocks
    resets: ResetBoard
    group_offsets: GroupOffsets
    trace: Trace
    tracer: Tracer
    lives: Lives
    query: Query
    lags: LagSampler
    desk: OperationsDesk
    catalogue: "Catalogue"
    messaging: "MessagingDesk"
    """What the HTTP interface shows; not there without it."""
    cluster_id: str

    def __init__(self, settings: Settings, origins: Mapping[str, str] | None = None) -> None:
        self.settings = self.started_with = settings
        """What the node goes by, with what the centre says; and what it was started with."""
        self.origins = self.own_origins = known_origins(settings) if origins is None else origins
        self._files = shared_files(files_needed(settings), file_limits()[0])
        self.health = Health()
        self.addresses: dict[str, tuple[Address, ...]] = {}
        """Where each listener listens, by its name."""
        self._failure: asyncio.Future[BraidError] = asyncio.get_running_loop().create_future()
        self._open = contextlib.AsyncExitStack()
        self._refusals = Refusals(_logger, "a client was refused: too few open files are allowed; see braid doctor")
        self._open.callback(self._refusals.close)
        self.connections = Connections()
        self._metric_sources: list[MetricSource] = []
        self.admissions = Admissions()
        self._holds: Holds | None = None
        self.usage: Usage | None = None
        self.listeners: list[Listener] = []
        self.telemetry: Telemetry | None = None
        self.broker_facts: BrokerFacts | None = None
        """What RocketMQ's clients are told; None where the node does not speak with them."""
        self.console_token: str | None = None
        """What the console asks for; None where there is no console."""

    @classmethod
    async def start(cls, settings: Settings, origins: Mapping[str, str] | None = None) -> "Node":
        """A node that is ready. `origins` say where each setting comes from. Raises the BraidError that prevents it,
        with everything closed again."""
        node = cls(settings, origins)
        node.health.object_to("node", "starting")
        try:
            await node._start()
        except BaseException:
            await node._open.aclose()
            raise
        return node

    async def failed(self) -> BraidError:
        """Waits for the failure after which this node cannot go on; it is to be stopped then."""
        return await asyncio.shield(self._failure)

    async def stop(self) -> None:
        """No new connections, let requests end, close the listeners, make everything durable. May be called again."""
        self.health.object_to("node", "stopping")
        await self._open.aclose()
        _logger.info("stopped")

    async def _start(self) -> None:
        folder = await asyncio.to_thread(_usable_folder, self.settings.node.data)
        self.log = await EmbeddedLog.open(
            folder / LOG_FOLDER_NAME, self._log_options(), on_failure=self._fail, on_held=self._tell_held
        )
        self._open.push_async_callback(self.log.close)
        _tell_recovery(self.log.recovery)
        store = await Store.open(self.settings.store_url)
        self._open.push_async_callback(store.close)
        self.catalog = await Catalog.open(store)
        self.settings, self.origins = effective(self.started_with, self.own_origins, central_values(self.catalog))
        self._holds = Holds(self.catalog)
        await reconcile(self.log, self.catalog)
        await self._wire_core(store)
        await self._watch_over(store)
        await self._listen()
        tune_collector()
        returning = MemoryReturn(lambda: self.log.moved_bytes)
        returning.start()
        self._open.push_async_callback(returning.close)
        if not self._failure.done():
            self.health.agree("node")
        _logger.info("ready", data=str(folder), listeners=sorted(self.addresses))

    async def _watch_over(self, store: Store) -> None:
        self.desk = OperationsDesk(self, store)
        self._open.push_async_callback(self.desk.close)
        await self.desk.open()
        self._metric_sources.append(self.desk.metrics)

    async def _wire_core(self, store: Store) -> None:
        topics = self.settings.topics
        self.topics = Topics(
            self.catalog,
            self.log,
            partitions=topics.partitions,
            auto_create=topics.auto_create == "on",
            defaults=self._topic_defaults(),
        )
        self._open.push_async_callback(self.topics.close)
        await self._start_query()
        self.cluster_id = await cluster_id(self.catalog)
        self._start_counting(LoopClock())
        self._start_tracing(store, LoopClock())
        self.groups = await Groups.open(
            self.catalog,
            self.log,
            GroupStates(store),
            limits=self._group_limits(),
            make_speech=lambda: kafka_speech(self.catalog),
            tracer=self.tracer,
        )
        self._open.push_async_callback(self.groups.close)
        self.transactions = await self._recovered_transactions(store)
        await self._start_deferring(store)
        self._wire_queues()
        await self._start_cursors(store)
        if self.telemetry is not None:
            self.telemetry.start()

    async def _start_cursors(self, store: Store) -> None:
        """Messages that are taken one by one."""
        section = self.settings.cursors
        self.cursors = Cursors(
            self.catalog,
            self.log,
            self.puller,
            self.groups,
            self.resets,
            self.retries,
            CursorRows(store),
            LoopClock(),
            await cluster_secret(store, "receipts", SECRET_BYTES),
            limits=CursorLimits(open_max=section.open_max, waiting_max=section.waiting_max),
            tracer=self.tracer,
            readers=self.members,
        )
        await self.cursors.open()
        self._open.push_async_callback(self.cursors.close)
        self._metric_sources.append(self.cursors.metrics)
        self._start_lite()

    def _start_lite(self) -> None:
        section = self.settings.lite
        self.lite = Lite(
            self.catalog,
            self.topics,
            self.log,
            self.publisher,
            self.cursors,
            self.groups,
            LoopClock(),
            limits=LiteLimits(topics_max=section.topics_max, subscriptions_max=section.subscriptions_max),
            check_interval_s=section.check_interval_s,
        )
        self.lite.start()
        self._open.push_async_callback(self.lite.close)
        self._metric_sources.append(self.lite.metrics)

    def _wire_queues(self) -> None:
        """What protocols need whose messages come and go one by one."""
        clock = LoopClock()
        publish = self.settings.publish
        self.publisher = Publisher(
            self.log,
            self.admissions,
            self.timers,
            self.halves,
            clock.now_ms,
            limits=PublishLimits(body_bytes_max=publish.body_bytes_max, deferred_bytes_max=publish.deferred_bytes_max),
            tally=Inlet(ROCKETMQ, self.counters, self.usage),
        )
        self.puller = Puller(self.log)
        self.members = Members(clock)
        self.questions = Questions(self.members)
        self.presence = Presence(self.catalog, clock, self.settings.node.name)
        self._metric_sources.append(self.members.metrics)
        self.credentials = Credentials(self.catalog)
        self.quotas = Quotas(self.catalog, clock)
        self.quotas.open()
        self._open.callback(self.quotas.close)
        self._metric_sources.append(self.quotas.metrics)

    async def _start_query(self) -> None:
        """Before anything is appended: by the log's ends the index sees whether messages were lost with the power."""
        query = self.settings.query
        folder = self.settings.node.data / QUERY_FOLDER_NAME
        disk = None
        if query.index == "on":
            folder.mkdir(exist_ok=True, mode=0o750)
            disk = RealDisk(folder.resolve())
            self._open.callback(disk.close)
        else:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        limits = IndexLimits(memory_bytes=query.memory_bytes, share=query.share_percent / 100)
        self.query = Query(self.log, self.catalog, disk, limits)
        await self.query.start()
        self._open.push_async_callback(self.query.close)
        self._metric_sources.append(self.query.metrics)

    async def _start_deferring(self, store: Store) -> None:
        """Messages that come to their topics later: at a time, or when their producer says so."""
        clock = LoopClock()
        owner = self.settings.node.name
        inlet = Inlet(ROCKETMQ, self.counters, self.usage)
        delivery = Delivery(self.catalog, self.log, self.admissions, clock.now_ms, tally=inlet)
        delay_max_ms = self.settings.timers.delay_max_s * 1000
        synced = self.settings.log.flush == "commit"
        self.timers = Timers(
            TimerRows(store, synced=synced), delivery, clock, owner=owner, delay_max_ms=delay_max_ms, tracer=self.tracer
        )
        half_rows = await self._half_rows(store, clock, synced=synced)
        self.halves = Halves(
            half_rows, delivery, clock, owner=owner, limits=half_limits(self.settings.halves), tracer=self.tracer
        )
        for service in (self.timers, self.halves):
            await service.start()
            self._open.push_async_callback(service.close)
            self._metric_sources.append(service.metrics)
        self._start_retrying(delivery, clock)
        self.resets = ResetBoard(clock)
        self.group_offsets = GroupOffsets(self.catalog, self.log, self.groups, self.resets)
        self.group_offsets.restore()

    async def _half_rows(self, store: Store, clock: LoopClock, *, synced: bool) -> Rows[Half]:
        """Where a store is shared, other nodes must see each half from its first moment."""
        rows = HalfRows(store, synced=synced)
        if store.is_shared:
            return rows
        await self.log.create_topic(HALVES_TOPIC)
        room = WaitingRoom(rows, self.log, HALVES_TOPIC.partition_numbers[0], clock)
        await room.open()
        self._open.push_async_callback(room.close)
        return room

    def _start_counting(self, clock: LoopClock) -> None:
        self.counters = Counters(clock)
        self.counters.start()
        self._open.callback(self.counters.close)
        self._metric_sources.append(self.counters.metrics)
        self.lags = LagSampler(self.catalog, self.log, self._members_of)
        self.usage = Usage(clock) if self.settings.telemetry.topics == "on" else None
        if self.usage is None:
            return
        self.telemetry = Telemetry(
            self.settings.node.name,
            self.catalog,
            self.topics,
            self.log,
            clock,
            self.usage,
            self.lags,
            trace_dropped=lambda: self.trace.dropped,
        )
        self._open.push_async_callback(self.telemetry.close)
        self._metric_sources.append(self.telemetry.metrics)

    def _members_of(self, group: str) -> int:
        """How many consumers a group has, whatever they speak."""
        found = self.groups.find(group)
        joined = 0 if found is None else len(found.members)
        return joined + len(self.members.consumers(group))

    def _start_tracing(self, store: Store, clock: LoopClock) -> None:
        rows = TraceRows(store)
        section = self.settings.trace
        keep_ms = section.keep_s * 1000
        if self.usage is None or self.telemetry is None:
            self.tracer = self.trace = Trace(rows, clock, on=section.events == "on", keep_ms=keep_ms)
        else:
            self.trace = Trace(rows, clock, on=section.events == "on", keep_ms=keep_ms, tell=self.telemetry.hear)
            self.tracer = Overheard(self.trace, self.usage, self.catalog)
        self.lives = Lives(Timelines(rows, self.catalog, self.log), self.query, self.catalog)
        self.trace.start()
        self._open.push_async_callback(self.trace.close)
        self._metric_sources.append(self.trace.metrics)

    def _start_retrying(self, delivery: Delivery, clock: LoopClock) -> None:
        """Messages that come to their groups again, and what their groups need to read them in order."""
        self.retries = Retries(self.catalog, self.topics, self.log, self.timers, clock, tracer=self.tracer)
        self._open.push_async_callback(self.retries.close)
        self.dead_letters = DeadLetters(self.catalog, self.topics, self.log, delivery)
        self._metric_sources += [self.retries.metrics, self.dead_letters.metrics]
        self.locks = PartitionLocks(clock.passed_ms, lease_ms=self.settings.groups.lock_lease_s * 1000)

    def _group_limits(self) -> GroupLimits:
        kafka = self.settings.kafka
        return GroupLimits(
            initial_delay_ms=kafka.group_initial_delay_ms,
            session_min_ms=kafka.group_session_min_ms,
            session_max_ms=kafka.group_session_max_ms,
            heartbeat_ms=kafka.group_heartbeat_ms,
            consumer_session_ms=kafka.group_session_ms,
            members_max=kafka.group_members_max,
            migration=Migration(kafka.group_migration),
            offsets_retention_ms=kafka.offsets_retention_s * 1000,
        )

    def _topic_defaults(self) -> dict[str, str]:
        """What this node's settings say about topics that say nothing."""
        said: tuple[tuple[TopicSetting[Any], str], ...] = (
            (SEGMENT_BYTES, str(self.settings.log.segment_bytes)),
            (ARCHIVE, self.settings.archive.default),
        )
        return {setting.name: text for setting, text in said if text != setting.default}

    async def _recovered_transactions(self, store: Store) -> Transactions:
        kafka = self.settings.kafka
        transactions = Transactions(
            TransactionRows(store),
            self.log,
            self.groups,
            timeout_max_ms=kafka.transaction_timeout_max_ms,
            expiry_ms=kafka.transactional_id_expiry_s * 1000,
        )
        await transactions.recover(number for topic in self.catalog.topics() for number in topic.partition_numbers)
        transactions.start()
        self._open.push_async_callback(transactions.close)
        return transactions

    def _log_options(self) -> LogOptions:
        section = self.settings.log
        chosen = {name: getattr(section, name) for name in section.__struct_fields__}
        chosen["open_files_max"] = self._files.log
        return LogOptions(**chosen, archive=self.settings.archive.default)

    async def _listen(self) -> None:
        """Those that messages come by serve at once; the HTTP interface follows. Its port is taken before all: one that
        is in use ends the start before anybody was served, and whoever connects early waits."""
        http = self.settings.http.listen
        sockets: list[socket.socket] = []
        if http is not None:
            sockets = await bind(HTTP, http)
            self._open.callback(close_all, sockets)
            self.addresses[HTTP] = bound_addresses(sockets)
        self._open.push_async_callback(self._stop_listeners)
        self._open.callback(self.desk.live.end)
        for listener in make_listeners(self):
            await self._serve(listener)
        if http is not None:
            await self._serve(await self._http_listener(http, sockets))
        self._open.push_async_callback(self.presence.close)
        await self.presence.start(self._reported())

    async def _serve(self, listener: Listener) -> None:
        self.listeners.append(listener)
        self._metric_sources.append(listener.metrics)
        self.connections.hear(listener.connections)
        self.addresses[listener.name] = await listener.start()

    async def _http_listener(self, listen: Address, sockets: list[socket.socket]) -> Listener:
        await self._aside(lambda: importlib.import_module("braidmq.node._http"))
        from braidmq.node._http import wire_http

        make = wire_http(self, listen, sockets)
        self._open.push_async_callback(self.catalogue.figures.close)
        self.catalogue.figures.start()
        return await self._aside(make)

    async def _aside(self, work: Callable[[], T]) -> T:
        """Do it in another thread. A start that is given up meanwhile closes nothing before that is done."""
        working = asyncio.get_running_loop().run_in_executor(None, work)
        self._open.push_async_callback(asyncio.wait, (working,))
        return await asyncio.shield(working)

    def _reported(self) -> dict[str, list[str]]:
        """Where clients begin, by protocol: as the settings say they reach us, or else where we listen."""
        begins = {
            "kafka": self.settings.kafka.listen,
            "rocketmq": self.settings.rocketmq.listen,
            "rocketmq_grpc": self.settings.rocketmq_grpc.listen,
        }
        reported = {name: [str(place) for place in places] for name, places in self.addresses.items()}
        for name, endpoints in begins.items():
            advertised = [str(endpoint.advertised) for endpoint in endpoints if endpoint.advertised is not None]
            if name in reported:
                reported[name] = advertised or reported[name][: len(endpoints)]
        return reported

    def metrics(self) -> Iterable[Metric]:
        """All figures of this node."""
        yield from node_metrics(self.settings.node.name, self.health.ready, self.catalog)
        yield from log_metrics(self.log.statistics())
        if self._holds is not None:
            yield from held_metrics(self._holds.by_topic(self.log.held_bytes()))
        for source in self._metric_sources:
            yield from source()

    def has_file_room(self) -> bool:
        """Whether one more client may connect: the files that the log needs are left alone."""
        connected = sum(listener.connected for listener in self.listeners)
        if connected < self._files.clients:
            return True
        self._refusals.note(connected=connected)
        return False

    async def _stop_listeners(self) -> None:
        listeners = self.listeners
        for listener in listeners:
            listener.stop_accepting()
        drain_s = self.settings.node.drain_ms / 1000
        await asyncio.gather(*(listener.drain(drain_s) for listener in listeners))
        await asyncio.gather(*(listener.close() for listener in listeners))

    def _tell_held(self, held_bytes: Mapping[int, int]) -> None:
        """The first maintenance may come before there is a catalog to know names from; the next tells."""
        if self._holds is not None:
            self._holds.tell(held_bytes)

    def _fail(self, error: BraidError) -> None:
        """The log cannot go on. Said once; what follows from it is only noise."""
        self.health.object_to("log", error.message)
        if not self._failure.done():
            _logger.error("storage failed, stopping", code=error.code, reason=error.message)
            self._failure.set_result(error)


def _tell_recovery(recovery: Recovery) -> None:
    """What an unclean stop left to repair; damage is told for each place, since messages are missing there."""
    if recovery.replayed_frames or recovery.cut_bytes:
        _logger.info("recovered", replayed_frames=recovery.replayed_frames, cut_bytes=recovery.cut_bytes)
    for damage in recovery.damage:
        _logger.error("stored messages cannot be read any more", **msgspec.structs.asdict(damage))


def _usable_folder(folder: Path) -> Path:
    """The data folder, made when it does not exist. Raises DataFolderUnusable."""
    try:
        make_folder(folder)
    except OSError as error:
        raise _unusable(folder, error.strerror or str(error)) from error
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise _unusable(folder, "Permission denied")
    return folder.resolve()


def _unusable(folder: Path, why: str) -> DataFolderUnusable:
    return DataFolderUnusable(f"cannot use the data folder {folder}: {why}; choose another with --data DIR")
