"""RocketMQ's gRPC interface: unmodified RocketMQ 5 clients.

`wire` has the messages, `codes` the numbers, `messages` what lies in the log; `handlers` holds the calls by theme; the
listener joins them to gRPC's server. Importing this brings gRPC: only nodes that listen for it do.
"""

from braidmq.protocols.rocketmq_grpc._certificates import server_tls
from braidmq.protocols.rocketmq_grpc._listener import RocketMQGrpcListener
from braidmq.protocols.rocketmq_grpc._services import GrpcFacts, GrpcServices

__all__ = ["GrpcFacts", "GrpcServices", "RocketMQGrpcListener", "server_tls"]
