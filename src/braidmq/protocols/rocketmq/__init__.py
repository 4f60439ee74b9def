"""RocketMQ's remoting protocol: unmodified RocketMQ clients and tools, 4.x and 5.x.

`codec` reads and writes frames, `handlers` holds the requests by theme, the listener and its connections join the two
to sockets. Name server and broker are two roles of the same node.
"""

from braidmq.protocols.rocketmq._client_traces import ClientTraces
from braidmq.protocols.rocketmq._commits import Commits
from braidmq.protocols.rocketmq._listener import RocketMQListener
from braidmq.protocols.rocketmq._services import BrokerFacts, RocketMQServices

__all__ = ["BrokerFacts", "ClientTraces", "Commits", "RocketMQListener", "RocketMQServices"]
