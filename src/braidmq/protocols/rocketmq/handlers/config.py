"""How the broker is set up, in RocketMQ's names and in the node's own, and changes of that while it runs.

A change is one of the settings from the centre: all nodes go by it at once, and again after a restart. It is refused
where the node that was asked would not go by it, and of several names in one request all count, or none. The name
server is the same node, and has the same settings.
"""

from collections.abc import Mapping
from typing import Final

from braidmq.core.access import Action, ResourceKind
from braidmq.model.errors import InvalidSetting
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._config_names import (
    MEANINGS,
    TEXT_BYTES_MAX,
    meant_changes,
    refusal,
)
from braidmq.protocols.rocketmq._errors import response_code
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._queues import is_broker_writable
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode
from braidmq.protocols.rocketmq.codec.headers import CustomHeader

_FLUSHES: Final = {"commit": "SYNC_FLUSH", "interval": "ASYNC_FLUSH"}


@answers(RequestCode.GET_BROKER_CONFIG, action=Action.DESCRIBE, resource=ResourceKind.SETTING)
def broker_config(call: Call[CustomHeader]) -> Answer:
    """The names that RocketMQ's tools look for, and then the node's own, with the values that count now."""
    services, broker = call.services, call.connection.broker
    settings = services.settings.facts()
    known = {
        "brokerName": services.facts.broker,
        "brokerClusterName": services.facts.cluster,
        "brokerId": "0",
        "brokerRole": "ASYNC_MASTER",
        "brokerIP1": broker.host,
        "listenPort": str(broker.port),
        "brokerPermission": "6" if is_broker_writable(services) else "4",
        "autoCreateSubscriptionGroup": "true",
        "enablePropertyFilter": "true",
        "flushDiskType": _FLUSHES[settings["log.flush"].value],
    }
    named = {name: meaning.theirs(settings[meaning.key]) for name, meaning in MEANINGS.items()}
    version = f'{{"counter":{services.catalog.revision},"stateVersion":0,"timestamp":0}}'
    return Answer(fields={"version": version}, body=_properties(known | named | _own(services)))


@answers(RequestCode.GET_NAMESRV_CONFIG, action=Action.DESCRIBE, resource=ResourceKind.SETTING)
def name_server_config(call: Call[CustomHeader]) -> Answer:
    return Answer(body=_properties({"listenPort": str(call.connection.here.port)} | _own(call.services)))


@answers(
    RequestCode.UPDATE_BROKER_CONFIG,
    RequestCode.UPDATE_NAMESRV_CONFIG,
    action=Action.CHANGE,
    resource=ResourceKind.SETTING,
)
async def change_config(call: Call[CustomHeader]) -> Answer:
    settings = call.services.settings
    if len(call.command.body) > TEXT_BYTES_MAX:
        raise InvalidSetting(f"nothing was changed: more than {TEXT_BYTES_MAX} bytes of names and values")
    changes, refused = meant_changes(call.command.body)
    for key, error in settings.refusals({key: change.value for key, change in changes.items()}).items():
        refused.setdefault(changes[key].name, error)
    if refused:
        first = next(iter(refused.values()))
        return Answer(response_code(first), remark=refusal(refused, settings.facts()))
    if not changes:
        raise InvalidSetting("nothing was changed: the request names no setting; its body is lines of name=value")
    values = {key: change.value for key, change in changes.items()}
    await settings.put_all(values, changed_by=f"rocketmq {call.connection.peer}")
    return Answer()


def _own(services: RocketMQServices) -> dict[str, str]:
    return {key: facts.value for key, facts in services.settings.facts().items()}


def _properties(table: Mapping[str, str]) -> bytes:
    """Lines of names and values; what would end a line is written so that it does not."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in table.items()).encode()


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
