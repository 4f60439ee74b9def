"""A broker in memory for users' own tests: the clients of `braidmq.sdk` take it in place of a node's address.

    with MemoryBroker() as broker, Producer(broker) as producer:
        producer.send("orders", "hello")
        assert [message.text for message in broker.messages("orders")] == ["hello"]

It has topics, groups with receipts and retries, dead letters, delayed messages, transactions and repeated requests as a
node has them, and checks messages and filters by the node's own code. It keeps nothing and measures nothing; what it
does not have is refused with a word that says so.
"""

from braidmq.testing._broker import MemoryBroker

__all__ = ["MemoryBroker"]
