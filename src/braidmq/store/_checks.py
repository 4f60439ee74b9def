"""What the catalog takes. Checked before any SQL, so that both databases refuse the same with the same words."""

from collections.abc import Mapping

from braidmq.model import (
    TOPIC_PARTITIONS_MAX,
    Group,
    Instance,
    Subscription,
    Topic,
    check_group_name,
    check_instance_name,
    check_topic_name,
)
from braidmq.model.credentials import ScramCredential
from braidmq.model.errors import InvalidCredential, InvalidName, InvalidPartitions, InvalidQuota, InvalidSetting
from braidmq.model.group_settings import check_lite_settings, retry_steps_ms
from braidmq.model.limits import Holder
from braidmq.model.share_settings import DELIVERIES, SHARE_SETTINGS, check_share_settings
from braidmq.store._things import Setting

SETTING_NAME_LENGTH_MAX = 255
EVENT_CODE_LENGTH_MAX = 64
HOLDER_LENGTH_MAX = 256
"""PostgreSQL finds rows only by what is not too long: these are a part of keys."""
SALT_BYTES_MAX = 1024
TEXT_LENGTH_MAX = 65_536
ATTEMPTS_MAX = 2**31 - 1
RETENTION_MAX = 2**63 - 1


def check_partitions(partitions: int) -> None:
    if not 1 <= partitions <= TOPIC_PARTITIONS_MAX:
        raise InvalidPartitions(f"a topic has 1 to {TOPIC_PARTITIONS_MAX:,} partitions, not {partitions:,}")


def check_topic(topic: Topic) -> None:
    check_topic_name(topic.name)
    for name, value in (("retention_ms", topic.retention_ms), ("retention_bytes", topic.retention_bytes)):
        if not -1 <= value <= RETENTION_MAX:
            raise InvalidSetting(f"{name} is -1 for no limit, or a number from 0, not {value}")
    _check_settings(topic.settings)


def check_instance(instance: Instance) -> None:
    check_instance_name(instance.name)
    _check_text("an instance's description", instance.description)


def check_group(group: Group) -> None:
    check_group_name(group.name)
    _check_text("a group's name", group.name)
    if not 1 <= group.attempts_max <= ATTEMPTS_MAX:
        raise InvalidSetting(f"attempts_max is a number from 1, not {group.attempts_max}")
    _check_settings(group.settings)
    retry_steps_ms(group.settings)
    check_lite_settings(group.settings)
    if DELIVERIES in group.settings:
        raise InvalidSetting(f"{DELIVERIES} is attempts_max and the first delivery; set attempts_max")
    check_share_settings({name: text for name, text in group.settings.items() if name in SHARE_SETTINGS})


def check_subscription(subscription: Subscription) -> None:
    check_topic_name(subscription.topic)
    length = len(subscription.event_code)
    if not 1 <= length <= EVENT_CODE_LENGTH_MAX:
        raise InvalidName(f"an event code has 1 to {EVENT_CODE_LENGTH_MAX} characters, this one has {length}")
    _check_text("an event code", subscription.event_code)
    _check_text("a subscription's expression", subscription.expression)


def check_setting(setting: Setting) -> None:
    _check_settings({setting.name: setting.value})
    _check_text("the name of who changes a setting", setting.changed_by)


def check_holder(holder: Holder) -> None:
    """Raises InvalidQuota."""
    for part in holder:
        if (wrong := _wrong_key("a name that a quota is for", part)) is not None:
            raise InvalidQuota(wrong)


def check_credential_user(user: str) -> None:
    """Raises InvalidCredential."""
    if (wrong := _wrong_key("a user's name", user)) is not None:
        raise InvalidCredential(wrong)


def check_credential(credential: ScramCredential) -> None:
    """Raises InvalidCredential."""
    if len(credential.salt) > SALT_BYTES_MAX:
        raise InvalidCredential(f"a salt has at most {SALT_BYTES_MAX:,} bytes, this one has {len(credential.salt):,}")


def _wrong_key(what: str, text: str) -> str | None:
    """Why this cannot be a part of what a row is found by."""
    if len(text) > HOLDER_LENGTH_MAX:
        return f"{what} has less than {HOLDER_LENGTH_MAX} characters, this has {len(text):,}"
    try:
        _check_text(what, text)
    except InvalidSetting as error:
        return error.message
    return None


def _check_settings(settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        if not 1 <= len(name) <= SETTING_NAME_LENGTH_MAX:
            raise InvalidSetting(
                f"the name of a setting has 1 to {SETTING_NAME_LENGTH_MAX} characters, this one has {len(name)}"
            )
        _check_text("the name of a setting", name)
        _check_text(f"the setting {name!r}", value)


def _check_text(what: str, text: str) -> None:
    """PostgreSQL keeps neither NUL nor half of a surrogate pair; SQLite must not take what the other refuses."""
    if len(text) > TEXT_LENGTH_MAX:
        raise InvalidSetting(f"{what} has at most {TEXT_LENGTH_MAX:,} characters, this has {len(text):,}")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidSetting(f"{what} holds a NUL character or is not valid Unicode")
