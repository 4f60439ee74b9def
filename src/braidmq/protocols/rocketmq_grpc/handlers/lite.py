"""Lite topics: thousands of small queues under one topic, a later addition to RocketMQ. They are not kept here."""

from typing import Any

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.rocketmq_grpc._call import Call
from braidmq.protocols.rocketmq_grpc._operations import answers
from braidmq.protocols.rocketmq_grpc.codes import Code, Refused


@answers("SyncLiteSubscription", action=Action.CONSUME, resource=ResourceKind.GROUP)
async def sync_lite_subscription(_: Call) -> Any:
    raise Refused(Code.NOT_IMPLEMENTED, "there are no lite topics here; use topics of their own, or filters")
