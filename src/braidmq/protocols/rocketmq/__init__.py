"""RocketMQ's remoting protocol. The codec stands; nothing listens yet."""
