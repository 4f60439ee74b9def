"""Kafka: unmodified clients from 0.10 to the newest. What stands so far is the codec."""
