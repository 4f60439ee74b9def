"""Who reads which lite topics: live, and told again by clients from time to time.

A reader is a client that is bound to one topic in one group. It names lite topics whether they exist or not. Where a
group is exclusive, a lite topic is one reader's at a time: who subscribes takes it over, and the one before is told;
who only repeats what it has is told again, in case it did not hear.
"""

from collections.abc import Callable, Iterable

import msgspec

from braidmq.model.errors import InvalidRequest, TooManyLiteSubscriptions

OnTaken = Callable[[str], None]
"""Tells a client that a lite topic, by its name, is no longer its."""


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """A client, as it is bound."""

    client: str
    group: str
    parent: str


class _Wants:
    """What one reader has subscribed to."""

    __slots__ = ("names", "on_taken", "reader", "turn")

    def __init__(self, reader: Reader, on_taken: OnTaken) -> None:
        self.reader = reader
        self.on_taken = on_taken
        self.names: dict[str, None] = {}
        self.turn = 0


class Subscriptions:
    """Of all readers. `on_change` is told of a client whose lite topics are no longer what they were."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        self._on_change = on_change
        self._by_client: dict[str, _Wants] = {}
        self._holders: dict[tuple[str, str], dict[str, None]] = {}
        """The clients that read a lite topic, by its parent and name."""

    def __len__(self) -> int:
        return sum(len(wants.names) for wants in self._by_client.values())

    def names(self, reader: Reader) -> tuple[str, ...]:
        """What it reads, another one first each time. Raises InvalidRequest where its client is bound otherwise."""
        self.check(reader)
        wants = self._by_client.get(reader.client)
        if wants is None:
            return ()
        names = tuple(wants.names)
        wants.turn = (wants.turn + 1) % (len(names) or 1)
        return names[wants.turn :] + names[: wants.turn]

    def readers(self, parent: str, name: str) -> list[Reader]:
        """Who reads a lite topic, whether it exists or not."""
        return [self._by_client[client].reader for client in self._holders.get((parent, name), ())]

    def under(self, parent: str) -> list[tuple[str, Reader]]:
        """All that is read of a topic: the name of a lite topic with each of its readers."""
        return [
            (name, self._by_client[client].reader)
            for (topic, name), clients in self._holders.items()
            if topic == parent
            for client in clients
        ]

    def check(self, reader: Reader) -> None:
        """Raises InvalidRequest where its client is bound otherwise."""
        wants = self._by_client.get(reader.client)
        if wants is not None:
            _check_bound(wants, reader)

    def missing(self, reader: Reader, names: Iterable[str], quota: int) -> list[str]:
        """Which of these it does not read yet. Raises what `add` would."""
        self.check(reader)
        wants = self._by_client.get(reader.client)
        present = {} if wants is None else wants.names
        new = [name for name in dict.fromkeys(names) if name not in present]
        _check_quota(len(present) + len(new), quota)
        return new

    def add(
        self, reader: Reader, names: Iterable[str], on_taken: OnTaken, *, quota: int, is_exclusive: bool
    ) -> list[str]:
        """The reader reads these, too; those that are new to it. Raises InvalidRequest, TooManyLiteSubscriptions."""
        new = self.missing(reader, names, quota)
        wants = self._wants(reader, on_taken)
        for name in new:
            if is_exclusive:
                self._take(reader, name)
            self._put(wants, name)
        if new:
            self._on_change(reader.client)
        return new

    def remove(self, reader: Reader, names: Iterable[str], on_taken: OnTaken) -> None:
        """It reads these no more. Raises InvalidRequest."""
        wants = self._wants(reader, on_taken)
        gone = [name for name in dict.fromkeys(names) if name in wants.names]
        for name in gone:
            self._drop(wants, name)
        if gone:
            self._on_change(reader.client)

    def replace(
        self, reader: Reader, names: Iterable[str], on_taken: OnTaken, *, quota: int, is_exclusive: bool
    ) -> list[str]:
        """It reads these and no others; those that are new to it. In an exclusive group it takes nothing over, but is
        told what is another's. Raises InvalidRequest, TooManyLiteSubscriptions."""
        wanted = dict.fromkeys(names)
        _check_quota(len(wanted), quota)
        wants = self._wants(reader, on_taken)
        taken = [name for name in wanted if is_exclusive and self._others(reader, name)]
        for name in taken:
            del wanted[name]
            wants.on_taken(name)
        self.remove(reader, [name for name in wants.names if name not in wanted], on_taken)
        return self.add(reader, wanted, on_taken, quota=quota, is_exclusive=False)

    def forget(self, client: str) -> None:
        """The client is gone."""
        wants = self._by_client.pop(client, None)
        if wants is not None:
            for name in list(wants.names):
                self._drop(wants, name)
            self._on_change(client)

    def tell(self, parent: str, name: str) -> None:
        """Something has changed about a lite topic: its readers are to hear of it."""
        for client in self._holders.get((parent, name), ()):
            self._on_change(client)

    def _wants(self, reader: Reader, on_taken: OnTaken) -> _Wants:
        wants = self._by_client.get(reader.client)
        if wants is None:
            wants = self._by_client[reader.client] = _Wants(reader, on_taken)
        _check_bound(wants, reader)
        wants.on_taken = on_taken
        return wants

    def _put(self, wants: _Wants, name: str) -> None:
        wants.names[name] = None
        self._holders.setdefault((wants.reader.parent, name), {})[wants.reader.client] = None

    def _drop(self, wants: _Wants, name: str) -> None:
        wants.names.pop(name, None)
        holders = self._holders.get((wants.reader.parent, name), {})
        holders.pop(wants.reader.client, None)
        if not holders:
            self._holders.pop((wants.reader.parent, name), None)

    def _others(self, reader: Reader, name: str) -> list[_Wants]:
        """Who else of the group reads it."""
        holders = self._holders.get((reader.parent, name), ())
        found = (self._by_client[client] for client in holders if client != reader.client)
        return [wants for wants in found if wants.reader.group == reader.group]

    def _take(self, reader: Reader, name: str) -> None:
        for wants in self._others(reader, name):
            self._drop(wants, name)
            self._on_change(wants.reader.client)
            wants.on_taken(name)


def _check_bound(wants: _Wants, reader: Reader) -> None:
    bound = wants.reader
    if bound != reader:
        raise InvalidRequest(
            f"{reader.client!r} is bound to the topic {bound.parent!r} in the group {bound.group!r}",
            fix="Use one client for each topic and group.",
        )


def _check_quota(count: int, quota: int) -> None:
    if count > quota:
        raise TooManyLiteSubscriptions(f"{count} lite topics for one reader; at most {quota}")
