"""What becomes of messages as data: archived, searched, reported, audited. On Spark, through PySpark.

Needs the extra `pipeline`. It reads and writes topics as any client does, by the Kafka protocol, and so works the same
on a node and on a Kafka cluster.
"""
