"""A consumer group as RocketMQ's tools describe it, and what becomes of their description here.

Attempts, order, steps of retry and permissions mean here what they mean there; the rest is kept as it came.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from braidmq.model import DEFAULT_INSTANCE, Group
from braidmq.model.group_settings import BROADCAST, CONSUME, LITE_SETTINGS, OFF, RETRY_STEPS, ROCKETMQ, STEPS_MAX
from braidmq.protocols.rocketmq._attributes import check_attributes, merged
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec.bodies import ExponentialRetryPolicy, GroupRetryPolicy, SubscriptionGroupConfig

RETRY_QUEUES_MAX: Final = 64
_CUSTOMIZED_SKIPPED: Final = 2
"""A first retry takes the third of the steps that a customized policy lists, as with RocketMQ."""
_EXPONENTIAL: Final = "EXPONENTIAL"


def config_of(group: Group) -> SubscriptionGroupConfig:
    config = _kept(group.settings)
    config.group_name = group.name
    config.retry_max_times = group.attempts_max
    config.consume_message_orderly = group.ordered
    config.consume_enable = group.settings.get(CONSUME) != OFF
    config.consume_broadcast_enable = group.settings.get(BROADCAST) != OFF
    said = {name: group.settings[name] for name in LITE_SETTINGS if name in group.settings}
    config.attributes = {name: text for name, text in config.attributes.items() if name not in LITE_SETTINGS} | said
    return config


async def apply_config(services: RocketMQServices, config: SubscriptionGroupConfig) -> None:
    """Make the group, or make of it what the description says, with the topic that its messages come back by.

    Raises InvalidName, InvalidSetting.
    """
    check_attributes(config.attributes)
    known = services.catalog.group(DEFAULT_INSTANCE, config.group_name)
    before = known or Group(name=config.group_name)
    group = msgspec.structs.replace(
        before,
        ordered=config.consume_message_orderly,
        attempts_max=config.retry_max_times,
        settings=_settings(config, before.settings),
    )
    if group != known:
        await services.catalog.save_group(group)
    retry = await services.retries.retry_topic(config.group_name)
    queues = min(config.retry_queue_nums, RETRY_QUEUES_MAX)
    if queues > len(retry.partition_numbers):
        await services.topics.expand(retry, queues)


def _settings(config: SubscriptionGroupConfig, before: Mapping[str, str]) -> dict[str, str]:
    attributes = merged(_kept(before).attributes, config.attributes)
    kept = msgspec.structs.replace(config, attributes=attributes)
    wanted = {
        **{name: attributes.get(name, "") for name in LITE_SETTINGS if _names(config, name)},
        CONSUME: "" if config.consume_enable else OFF,
        BROADCAST: "" if config.consume_broadcast_enable else OFF,
        RETRY_STEPS: _steps(config.group_retry_policy),
        ROCKETMQ: msgspec.json.encode(kept).decode(),
    }
    return {name: text for name, text in {**before, **wanted}.items() if text}


def _names(config: SubscriptionGroupConfig, attribute: str) -> bool:
    """Whether the description says something of the attribute."""
    return any(name[1:] == attribute for name in config.attributes)


def _steps(policy: GroupRetryPolicy) -> str:
    """The steps of retry; empty for the usual ones."""
    if policy.type == _EXPONENTIAL and policy.exponential_retry_policy is not None:
        steps_ms = _exponential(policy.exponential_retry_policy)
    elif policy.customized_retry_policy is not None:
        listed = policy.customized_retry_policy.next
        steps_ms = listed[_CUSTOMIZED_SKIPPED:] or listed[-1:]
    else:
        steps_ms = []
    return " ".join(f"{step_ms}ms" for step_ms in steps_ms)


def _exponential(policy: ExponentialRetryPolicy) -> list[int]:
    steps_ms: list[int] = []
    step_ms = policy.initial
    while len(steps_ms) < STEPS_MAX:
        steps_ms.append(min(step_ms, policy.max))
        if step_ms >= policy.max or policy.multiplier <= 1:
            break
        step_ms *= policy.multiplier
    return steps_ms


def _kept(settings: Mapping[str, str]) -> SubscriptionGroupConfig:
    text = settings.get(ROCKETMQ)
    return msgspec.json.decode(text, type=SubscriptionGroupConfig) if text else SubscriptionGroupConfig()
