"""The handlers. Importing this registers all of them."""

from braidmq.protocols.rocketmq_grpc.handlers import clients, lite, offsets, receive, routes, send

__all__ = ["clients", "lite", "offsets", "receive", "routes", "send"]
