"""The messages of RocketMQ's gRPC interface, made from a table of facts: names, numbers and types of fields.

One line describes a message. A field is its name, its number and its type; behind the type `*` says repeated, `?` that
its absence is told from its default, and `|group` that only one field of that group is there at a time. Enumerations
are numbers here: on the wire they are the same; `codes` has their names.

The classes live in a pool of their own, so that a process which also holds a client of RocketMQ's has no quarrel about
who defines them.
"""

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, message_factory, timestamp_pb2

PACKAGE: Final = "apache.rocketmq.v2"
SERVICE: Final = f"{PACKAGE}.MessagingService"

_Field = descriptor_pb2.FieldDescriptorProto

_MESSAGES: Final = """
FilterExpression: type 1 int, expression 2 str
RetryPolicy: max_attempts 1 int, exponential_backoff 2 ExponentialBackoff|strategy, \
  customized_backoff 3 CustomizedBackoff|strategy
ExponentialBackoff: initial 1 Duration, max 2 Duration, multiplier 3 float
CustomizedBackoff: next 1 Duration*
Resource: resource_namespace 1 str, name 2 str
SubscriptionEntry: topic 1 Resource, expression 2 FilterExpression
Address: host 1 str, port 2 int
Endpoints: scheme 1 int, addresses 2 Address*
Broker: name 1 str, id 2 int, endpoints 3 Endpoints
MessageQueue: topic 1 Resource, id 2 int, permission 3 int, broker 4 Broker, accept_message_types 5 int*
Digest: type 1 int, checksum 2 str
SystemProperties: tag 1 str?, keys 2 str*, message_id 3 str, body_digest 4 Digest, body_encoding 5 int, \
  message_type 6 int, born_timestamp 7 Timestamp, born_host 8 str, store_timestamp 9 Timestamp?, store_host 10 str, \
  delivery_timestamp 11 Timestamp?, receipt_handle 12 str?, queue_id 13 int, queue_offset 14 long?, \
  invisible_duration 15 Duration?, delivery_attempt 16 int?, message_group 17 str?, trace_context 18 str?, \
  orphaned_transaction_recovery_duration 19 Duration?, dead_letter_queue 20 DeadLetterQueue?, lite_topic 21 str?, \
  priority 22 int?
DeadLetterQueue: topic 1 str, message_id 2 str
Message: topic 1 Resource, user_properties 2 map, system_properties 3 SystemProperties, body 4 bytes
Assignment: message_queue 1 MessageQueue
Status: code 1 int, message 2 str
UA: language 1 int, version 2 str, platform 3 str, hostname 4 str
Settings: client_type 1 int?, access_point 2 Endpoints?, backoff_policy 3 RetryPolicy?, request_timeout 4 Duration?, \
  publishing 5 Publishing|pub_sub, subscription 6 Subscription|pub_sub, user_agent 7 UA, metric 8 Metric
Publishing: topics 1 Resource*, max_body_size 2 int, validate_message_type 3 bool
Subscription: group 1 Resource?, subscriptions 2 SubscriptionEntry*, fifo 3 bool?, receive_batch_size 4 int?, \
  long_polling_timeout 5 Duration?, lite_subscription_quota 6 int?, max_lite_topic_size 7 int?
Metric: on 1 bool, endpoints 2 Endpoints?
OffsetOption: policy 1 int|offset_type, offset 2 long|offset_type, tail_n 3 long|offset_type, \
  timestamp 4 long|offset_type
QueryRouteRequest: topic 1 Resource, endpoints 2 Endpoints
QueryRouteResponse: status 1 Status, message_queues 2 MessageQueue*
SendMessageRequest: messages 1 Message*
SendResultEntry: status 1 Status, message_id 2 str, transaction_id 3 str, offset 4 long, recall_handle 5 str
SendMessageResponse: status 1 Status, entries 2 SendResultEntry*
QueryAssignmentRequest: topic 1 Resource, group 2 Resource, endpoints 3 Endpoints
QueryAssignmentResponse: status 1 Status, assignments 2 Assignment*
ReceiveMessageRequest: group 1 Resource, message_queue 2 MessageQueue, filter_expression 3 FilterExpression, \
  batch_size 4 int, invisible_duration 5 Duration?, auto_renew 6 bool, long_polling_timeout 7 Duration?, \
  attempt_id 8 str?
ReceiveMessageResponse: status 1 Status|content, message 2 Message|content, delivery_timestamp 3 Timestamp|content
AckMessageEntry: message_id 1 str, receipt_handle 2 str, lite_topic 3 str?
AckMessageRequest: group 1 Resource, topic 2 Resource, entries 3 AckMessageEntry*
AckMessageResultEntry: message_id 1 str, receipt_handle 2 str, status 3 Status
AckMessageResponse: status 1 Status, entries 2 AckMessageResultEntry*
ForwardMessageToDeadLetterQueueRequest: group 1 Resource, topic 2 Resource, receipt_handle 3 str, message_id 4 str, \
  delivery_attempt 5 int, max_delivery_attempts 6 int, lite_topic 7 str?
ForwardMessageToDeadLetterQueueResponse: status 1 Status
HeartbeatRequest: group 1 Resource?, client_type 2 int
HeartbeatResponse: status 1 Status
EndTransactionRequest: topic 1 Resource, message_id 2 str, transaction_id 3 str, resolution 4 int, source 5 int, \
  trace_context 6 str
EndTransactionResponse: status 1 Status
PrintThreadStackTraceCommand: nonce 1 str
ReconnectEndpointsCommand: nonce 1 str
ThreadStackTrace: nonce 1 str, thread_stack_trace 2 str?
VerifyMessageCommand: nonce 1 str, message 2 Message
VerifyMessageResult: nonce 1 str
RecoverOrphanedTransactionCommand: message 1 Message, transaction_id 2 str
NotifyUnsubscribeLiteCommand: lite_topic 1 str
TelemetryCommand: status 1 Status?, settings 2 Settings|command, thread_stack_trace 3 ThreadStackTrace|command, \
  verify_message_result 4 VerifyMessageResult|command, \
  recover_orphaned_transaction_command 5 RecoverOrphanedTransactionCommand|command, \
  print_thread_stack_trace_command 6 PrintThreadStackTraceCommand|command, \
  verify_message_command 7 VerifyMessageCommand|command, \
  reconnect_endpoints_command 8 ReconnectEndpointsCommand|command, \
  notify_unsubscribe_lite_command 9 NotifyUnsubscribeLiteCommand|command
NotifyClientTerminationRequest: group 1 Resource?
NotifyClientTerminationResponse: status 1 Status
ChangeInvisibleDurationRequest: group 1 Resource, topic 2 Resource, receipt_handle 3 str, \
  invisible_duration 4 Duration, message_id 5 str, lite_topic 6 str?, suspend 7 bool?
ChangeInvisibleDurationResponse: status 1 Status, receipt_handle 2 str
PullMessageRequest: group 1 Resource, message_queue 2 MessageQueue, offset 3 long, batch_size 4 int, \
  filter_expression 5 FilterExpression, long_polling_timeout 6 Duration
PullMessageResponse: status 1 Status|content, message 2 Message|content, next_offset 3 long|content
UpdateOffsetRequest: group 1 Resource, message_queue 2 MessageQueue, offset 3 long
UpdateOffsetResponse: status 1 Status
GetOffsetRequest: group 1 Resource, message_queue 2 MessageQueue
GetOffsetResponse: status 1 Status, offset 2 long
QueryOffsetRequest: message_queue 1 MessageQueue, query_offset_policy 2 int, timestamp 3 Timestamp?
QueryOffsetResponse: status 1 Status, offset 2 long
RecallMessageRequest: topic 1 Resource, recall_handle 2 str
RecallMessageResponse: status 1 Status, message_id 2 str
SyncLiteSubscriptionRequest: action 1 int, topic 2 Resource, group 3 Resource, lite_topic_set 4 str*, \
  version 5 long?, offset_option 6 OffsetOption?
SyncLiteSubscriptionResponse: status 1 Status
"""

_PLAIN: Final = {
    "int": _Field.TYPE_INT32,
    "long": _Field.TYPE_INT64,
    "str": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
    "float": _Field.TYPE_FLOAT,
    "bytes": _Field.TYPE_BYTES,
}
_GOOGLE: Final = ("Duration", "Timestamp")


def _add_map(message: descriptor_pb2.DescriptorProto, field: descriptor_pb2.FieldDescriptorProto) -> None:
    """A map of texts is a repeated message of two fields on the wire."""
    entry = message.nested_type.add(name="".join(word.capitalize() for word in field.name.split("_")) + "Entry")
    entry.options.map_entry = True
    for number, name in enumerate(("key", "value"), start=1):
        entry.field.add(name=name, number=number, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
    field.label = _Field.LABEL_REPEATED
    field.type = _Field.TYPE_MESSAGE
    field.type_name = f".{PACKAGE}.{message.name}.{entry.name}"


def _add_field(message: descriptor_pb2.DescriptorProto, text: str) -> None:
    name, number, described = text.split()
    kind, _, choice = described.partition("|")
    field = message.field.add(name=name, number=int(number), label=_Field.LABEL_OPTIONAL)
    if kind.endswith("*"):
        field.label = _Field.LABEL_REPEATED
    if kind.endswith("?"):
        field.proto3_optional = True
        choice = f"_{name}"
    kind = kind.rstrip("*?")
    if kind == "map":
        _add_map(message, field)
    elif kind in _PLAIN:
        field.type = _PLAIN[kind]
    else:
        field.type = _Field.TYPE_MESSAGE
        field.type_name = f".google.protobuf.{kind}" if kind in _GOOGLE else f".{PACKAGE}.{kind}"
    if choice:
        known = [each.name for each in message.oneof_decl]
        if choice not in known:
            message.oneof_decl.add(name=choice)
            known.append(choice)
        field.oneof_index = known.index(choice)


def _described() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="braidmq/rocketmq_grpc", package=PACKAGE, syntax="proto3")
    file.dependency.extend(each.DESCRIPTOR.name for each in (duration_pb2, timestamp_pb2))
    for line in _MESSAGES.strip().splitlines():
        name, _, fields = line.partition(":")
        message = file.message_type.add(name=name)
        plain = [text for text in fields.split(",") if not text.split()[2].endswith("?")]
        optional = [text for text in fields.split(",") if text.split()[2].endswith("?")]
        for text in (*plain, *optional):  # choices of one's own come behind the others
            _add_field(message, text)
    return file


def _classes() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    for google in (duration_pb2, timestamp_pb2):
        pool.AddSerializedFile(google.DESCRIPTOR.serialized_pb)
    file = _described()
    pool.AddSerializedFile(file.SerializeToString())
    names = [f"{PACKAGE}.{message.name}" for message in file.message_type]
    names += [f"google.protobuf.{name}" for name in _GOOGLE]
    return {
        name.rpartition(".")[2]: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names
    }


_CLASSES: Final = _classes()


def __getattr__(name: str) -> Any:
    """The class of a message, by its name."""
    try:
        return _CLASSES[name]
    except KeyError:
        raise AttributeError(f"RocketMQ's interface has no message {name}") from None
