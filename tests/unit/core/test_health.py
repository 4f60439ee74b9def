"""Ready means that no part objects."""

from braidmq.core.health import Health


def test_a_node_is_ready_when_every_part_agrees() -> None:
    health = Health()
    health.object_to("node", "starting")
    health.object_to("log", "the disk failed")
    health.agree("node")
    assert not health.ready
    assert health.reasons == {"log": "the disk failed"}
    health.agree("log")
    assert health.ready


def test_the_newest_reason_of_a_part_counts() -> None:
    health = Health()
    health.object_to("node", "starting")
    health.object_to("node", "stopping")
    assert health.reasons == {"node": "stopping"}
