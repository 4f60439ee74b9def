"""RocketMQ's gRPC interface: unmodified RocketMQ 5 clients.

`wire` has the messages, `codes` the numbers, `messages` what lies in the log; `handlers` holds the calls by theme; the
listener joins them to gRPC's server. gRPC itself is only loaded when the first client comes.
"""

from braidmq.protocols.rocketmq_grpc._certificates import server_tls
from braidmq.protocols.rocketmq_grpc._listener import RocketMQGrpcListener
from braidmq.protocols.rocketmq_grpc._services import GrpcFacts, GrpcLimits, GrpcServices

__all__ = ["GrpcFacts", "GrpcLimits", "GrpcServices", "RocketMQGrpcListener", "server_tls"]
