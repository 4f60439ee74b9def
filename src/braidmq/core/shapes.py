"""What of a topic its clients see: how many of its partitions they read and write, and whether they may. Hot path.

Nearly all topics leave this at its default, and then the answer costs a look into their settings.
"""

from typing import Final

from braidmq.model import Topic
from braidmq.model.errors import NotPermitted
from braidmq.model.topic_settings import ALLOWS, PARTITIONS_READ, PARTITIONS_WRITE, READ, WRITE, TopicSetting

_ALLOWS: Final = ALLOWS.name


def readable_partitions(topic: Topic) -> int:
    """How many partitions readers are sent to."""
    return _count(topic, PARTITIONS_READ)


def writable_partitions(topic: Topic) -> int:
    """How many partitions messages go to where nobody says which."""
    return _count(topic, PARTITIONS_WRITE)


def is_readable(topic: Topic) -> bool:
    return _ALLOWS not in topic.settings or READ in ALLOWS.read(topic.settings)


def is_writable(topic: Topic) -> bool:
    return _ALLOWS not in topic.settings or WRITE in ALLOWS.read(topic.settings)


def check_readable(topic: Topic) -> None:
    """Raises NotPermitted."""
    if not is_readable(topic):
        raise NotPermitted(f"the topic[{topic.name}] is not to be read ({_ALLOWS})")


def check_writable(topic: Topic) -> None:
    """Raises NotPermitted."""
    if not is_writable(topic):
        raise NotPermitted(f"sending message to topic[{topic.name}] is forbidden ({_ALLOWS})")


def _count(topic: Topic, setting: TopicSetting[int]) -> int:
    present = len(topic.partition_numbers)
    if setting.name not in topic.settings:
        return present
    return min(setting.read(topic.settings) or present, present)
