"""The name server's own requests: settings by key, and whether producers are sent to a broker.

Both are kept in the catalog, so that every node answers the same. The name server's settings are the node's.
"""

from typing import Final
from urllib.parse import quote, unquote

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._queues import is_broker_writable, write_setting
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, encode_body
from braidmq.protocols.rocketmq.codec.bodies import KVTable
from braidmq.protocols.rocketmq.codec.headers import (
    AddWritePermOfBrokerRequestHeader,
    DeleteKVConfigRequestHeader,
    GetKVConfigRequestHeader,
    GetKVListByNamespaceRequestHeader,
    PutKVConfigRequestHeader,
    WipeWritePermOfBrokerRequestHeader,
)

_PREFIX: Final = "rocketmq.kv/"


@answers(RequestCode.PUT_KV_CONFIG, action=Action.CHANGE, resource=ResourceKind.SETTING)
async def put_value(call: Call[PutKVConfigRequestHeader]) -> Answer:
    header = call.header
    await call.services.catalog.set_setting(
        _name(header.namespace, header.key), header.value, changed_by=f"rocketmq {call.connection.peer}"
    )
    return Answer()


@answers(RequestCode.GET_KV_CONFIG, action=Action.DESCRIBE, resource=ResourceKind.SETTING)
def get_value(call: Call[GetKVConfigRequestHeader]) -> Answer:
    header = call.header
    found = call.services.catalog.setting(_name(header.namespace, header.key))
    if found is None:
        return _nothing(f"No config item, Namespace: {header.namespace} Key: {header.key}")
    return Answer(fields={"value": found.value})


@answers(RequestCode.DELETE_KV_CONFIG, action=Action.CHANGE, resource=ResourceKind.SETTING)
async def delete_value(call: Call[DeleteKVConfigRequestHeader]) -> Answer:
    await call.services.catalog.unset_setting(_name(call.header.namespace, call.header.key))
    return Answer()


@answers(RequestCode.GET_KVLIST_BY_NAMESPACE, action=Action.DESCRIBE, resource=ResourceKind.SETTING)
def values(call: Call[GetKVListByNamespaceRequestHeader]) -> Answer:
    prefix = _name(call.header.namespace, "")
    table = {
        unquote(setting.name.removeprefix(prefix)): setting.value
        for setting in call.services.catalog.settings()
        if setting.name.startswith(prefix)
    }
    if not table:
        return _nothing(f"No config item, Namespace: {call.header.namespace}")
    return Answer(body=encode_body(KVTable(table=table)))


def _name(namespace: str, key: str) -> str:
    return f"{_PREFIX}{quote(namespace, safe='')}/{quote(key, safe='')}"


def _nothing(remark: str) -> Answer:
    return Answer(ResponseCode.QUERY_NOT_FOUND, remark=remark)


# Whether producers are sent to a broker.


@answers(RequestCode.WIPE_WRITE_PERM_OF_BROKER, action=Action.CHANGE, resource=ResourceKind.NODE)
async def wipe_write_permission(call: Call[WipeWritePermOfBrokerRequestHeader]) -> Answer:
    """Routes say from now on that the broker's topics are only read. The answer tells how many that changed."""
    services = call.services
    changed = 0
    if call.header.broker_name == services.facts.broker and is_broker_writable(services):
        changed = len(services.catalog.topics())
        name = write_setting(services)
        await services.catalog.set_setting(name, "off", changed_by=f"rocketmq {call.connection.peer}")
    return Answer(fields={"wipeTopicCount": str(changed)})


@answers(RequestCode.ADD_WRITE_PERM_OF_BROKER, action=Action.CHANGE, resource=ResourceKind.NODE)
async def add_write_permission(call: Call[AddWritePermOfBrokerRequestHeader]) -> Answer:
    services = call.services
    changed = 0
    if call.header.broker_name == services.facts.broker and await services.catalog.unset_setting(
        write_setting(services)
    ):
        changed = len(services.catalog.topics())
    return Answer(fields={"addTopicCount": str(changed)})
