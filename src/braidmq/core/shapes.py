"""What of a topic its clients see: how many of its partitions they read and write, and whether they may. Hot path.

Nearly all topics leave this at its default, and then the answer costs a look into their settings.
"""

from typing import Final

from braidmq.model import Group, Topic
from braidmq.model.errors import NotPermitted
from braidmq.model.group_settings import check_consumption
from braidmq.model.topic_settings import ALLOWS, PARTITIONS_READ, PARTITIONS_WRITE, READ, WRITE, TopicSetting

_ALLOWS: Final = ALLOWS.name


def readable_partitions(topic: Topic) -> int:
    """How many partitions readers are sent to."""
    return _count(topic, PARTITIONS_READ)


def writable_partitions(topic: Topic) -> int:
    """How many partitions messages go to where nobody says which."""
    return _count(topic, PARTITIONS_WRITE)


def shown_partitions(topic: Topic) -> int:
    """How many partitions somebody reads or writes: what lay behind them, nobody would ever read."""
    if not topic.settings:
        return len(topic.partition_numbers)
    return max(readable_partitions(topic), writable_partitions(topic))


def is_readable(topic: Topic) -> bool:
    return _ALLOWS not in topic.settings or READ in ALLOWS.read(topic.settings)


def is_writable(topic: Topic) -> bool:
    return _ALLOWS not in topic.settings or WRITE in ALLOWS.read(topic.settings)


def check_readable(topic: Topic) -> None:
    """Raises NotPermitted."""
    if not is_readable(topic):
        raise NotPermitted(f"the topic[{topic.name}] is not to be read ({_ALLOWS})")


def check_reading(topic: Topic, group: Group | None) -> None:
    """Whether members of the group may be given messages of the topic; None for a group that nobody has made yet.
    Raises NotPermitted."""
    if topic.settings:
        check_readable(topic)
    if group is not None and group.settings:
        check_consumption(group.settings, group.name, topic.name)


def check_writable(topic: Topic) -> None:
    """Raises NotPermitted."""
    if not is_writable(topic):
        raise NotPermitted(f"sending message to topic[{topic.name}] is forbidden ({_ALLOWS})")


def _count(topic: Topic, setting: TopicSetting[int]) -> int:
    present = len(topic.partition_numbers)
    if setting.name not in topic.settings:
        return present
    return min(setting.read(topic.settings) or present, present)
