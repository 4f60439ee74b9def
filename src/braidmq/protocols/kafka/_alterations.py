"""Changes of settings, from the two APIs that ask for them: all settings of a thing at once, or some of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from braidmq.core.topics import SettingsChange
from braidmq.model import DEFAULT_INSTANCE, BraidError, Group, check_group_name
from braidmq.model.share_settings import share_texts, with_share_texts
from braidmq.protocols.kafka._configs import ResourceType
from braidmq.protocols.kafka._errors import InvalidResource
from braidmq.protocols.kafka._partitions import find_own_topic
from braidmq.protocols.kafka._services import KafkaServices

_NODES = (ResourceType.BROKER, ResourceType.BROKER_LOGGER)


class Alteration(NamedTuple):
    """What is to be made of one thing's settings."""

    resource_type: int
    resource_name: str
    change: SettingsChange


async def alter_all(
    services: KafkaServices, alterations: Sequence[Alteration], *, validate_only: bool
) -> list[BraidError | None]:
    """Each thing's fate, in order: None where its change is made, or could be made."""
    counts = Counter((each.resource_type, each.resource_name) for each in alterations)
    fates: list[BraidError | None] = []
    for alteration in alterations:
        try:
            if counts[alteration.resource_type, alteration.resource_name] > 1:
                raise InvalidResource("each resource may be named once in a request")
            await _alter(services, alteration, validate_only=validate_only)
        except BraidError as error:
            fates.append(error)
        else:
            fates.append(None)
    return fates


async def _alter(services: KafkaServices, alteration: Alteration, *, validate_only: bool) -> None:
    if alteration.resource_type in _NODES:
        _check_nothing_changes(alteration)
        return
    if alteration.resource_type == ResourceType.GROUP:
        await _alter_group(services, alteration, validate_only=validate_only)
        return
    if alteration.resource_type != ResourceType.TOPIC:
        raise InvalidResource(f"nothing can be set for resource type {alteration.resource_type}")
    topic = find_own_topic(services, alteration.resource_name)
    if validate_only:
        services.topics.plan_configuration(topic, alteration.change)
    else:
        await services.topics.configure(topic, alteration.change)


async def _alter_group(services: KafkaServices, alteration: Alteration, *, validate_only: bool) -> None:
    """A group that nobody knows yet is made by this. Raises InvalidSetting, InvalidName."""
    name = check_group_name(alteration.resource_name)
    group = services.catalog.group(DEFAULT_INSTANCE, name) or Group(name=name)
    changed = with_share_texts(group, alteration.change(share_texts(group)))
    if not validate_only and changed != group:
        await services.catalog.save_group(changed)


def _check_nothing_changes(alteration: Alteration) -> None:
    """Tools tidy up what they might have set before, such as throttles; that nothing is set any more is true here."""
    if alteration.change({}):
        raise InvalidResource("the settings of a node are in its file, and cannot be changed from here")


def check_unrepeated(names: Iterable[str]) -> None:
    """Raises InvalidResource."""
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise InvalidResource(
            f"a setting may be named once for each resource, and these are named more often: {repeated}"
        )
