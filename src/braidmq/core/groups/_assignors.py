"""How we divide partitions among the members of a group: pure functions from who wants what to who gets what.

`uniform` gives all members equally much, as far as what they read allows, and moves as little as possible. `range`
gives each member a run of neighbours of every topic, the same run in topics of the same size, so that what belongs
together by its number comes to the same member.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Shares = dict[str, frozenset[int]]


class Wish(NamedTuple):
    """A member, and the topics that it reads. `place` is where it stands in the line, whatever its id."""

    member_id: str
    place: str
    topics: frozenset[str]


Assign = Callable[[Sequence[Wish], Mapping[str, Sequence[int]], Mapping[str, frozenset[int]]], Shares]
"""From the members, the partitions of each topic in order, and the shares so far, to the new shares."""


def assign_range(
    wishes: Sequence[Wish], topics: Mapping[str, Sequence[int]], _: Mapping[str, frozenset[int]]
) -> Shares:
    """Runs of neighbours; the first members get what does not divide evenly."""
    line = sorted(wishes, key=lambda wish: wish.place)
    shares: dict[str, set[int]] = {wish.member_id: set() for wish in wishes}
    for topic, numbers in topics.items():
        readers = [wish for wish in line if topic in wish.topics]
        begin = 0
        for place, wish in enumerate(readers):
            size = len(numbers) // len(readers) + (place < len(numbers) % len(readers))
            shares[wish.member_id].update(numbers[begin : begin + size])
            begin += size
    return {member_id: frozenset(share) for member_id, share in shares.items()}


def assign_uniform(
    wishes: Sequence[Wish], topics: Mapping[str, Sequence[int]], before: Mapping[str, frozenset[int]]
) -> Shares:
    """Equal shares, moving little."""
    line = sorted(wishes, key=lambda wish: wish.place)
    read = {topic: [wish.member_id for wish in line if topic in wish.topics] for topic in topics}
    topic_of = {number: topic for topic, numbers in topics.items() if read[topic] for number in numbers}
    shares = {wish.member_id: set[int]() for wish in line}
    for wish in line:
        held = before.get(wish.member_id, frozenset())
        shares[wish.member_id] = {number for number in held if topic_of.get(number, "") in wish.topics}
    if len({wish.topics.intersection(topics) for wish in line}) <= 1:
        _level(shares, sorted(topic_of))
    else:
        _spread(shares, topic_of, read)
    return {member_id: frozenset(share) for member_id, share in shares.items()}


def _level(shares: dict[str, set[int]], numbers: Sequence[int]) -> None:
    """All read the same: everybody keeps what it has, up to its quota, and the rest fills up the others."""
    if not shares:
        return
    quota, larger = divmod(len(numbers), len(shares))
    spare: set[int] = set(numbers).difference(*shares.values())
    quotas: dict[str, int] = {}
    for member_id in sorted(shares, key=lambda each: -len(shares[each])):
        quotas[member_id] = quota + (larger > 0)
        larger -= larger > 0
    for member_id, share in shares.items():
        for number in sorted(share, reverse=True)[: max(len(share) - quotas[member_id], 0)]:
            share.remove(number)
            spare.add(number)
    left = iter(sorted(spare))
    for member_id, share in shares.items():
        while len(share) < quotas[member_id]:
            share.add(next(left))


def _spread(shares: dict[str, set[int]], topic_of: Mapping[int, str], read: Mapping[str, Sequence[str]]) -> None:
    """Members read different topics: give to who has least, then take from who has two more than another reader.

    Each move makes the shares more equal, so that there is an end.
    """
    owners = {number: member_id for member_id, share in shares.items() for number in share}
    for number in sorted(topic_of, key=lambda number: (len(read[topic_of[number]]), number)):
        if number not in owners:
            owners[number] = _least(shares, read[topic_of[number]])
            shares[owners[number]].add(number)
    is_moving = True
    while is_moving:
        is_moving = False
        for number in sorted(owners):
            owner = owners[number]
            least = _least(shares, read[topic_of[number]])
            if len(shares[owner]) - len(shares[least]) >= 2:
                shares[owner].remove(number)
                shares[least].add(number)
                owners[number] = least
                is_moving = True


def _least(shares: Mapping[str, set[int]], readers: Sequence[str]) -> str:
    return min(readers, key=lambda member_id: len(shares[member_id]))


ASSIGNORS: Mapping[str, Assign] = {"uniform": assign_uniform, "range": assign_range}
DEFAULT_ASSIGNOR = "uniform"
