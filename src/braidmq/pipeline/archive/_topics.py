"""Whether topics are still those that the archive has begun with.

A topic that was deleted and made anew under its name counts from offset 0 again. The archive would take its messages
for those that it has, and marks of the old one would free what nobody has archived. So each topic's id lies in the
table with the topic's first batch; a topic that has another now is left out, and the others go on.
"""

from collections.abc import Collection, Mapping

from braidmq.pipeline._brokers import LATEST, admin_client, offsets_at, other_ids, topic_ids
from braidmq.pipeline.archive._layout import APP, Folders
from braidmq.pipeline.archive._marks import set_marks
from braidmq.pipeline.tables import State, Table, TopicPartition


def remade_topics(
    path: str, bootstrap: str, topics: Collection[str], kafka: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Those of the topics that are not what the archive has under their name, and why. Raises BrokerUnreachable."""
    folder = Folders(path).messages
    if not topics or not Table.exists(folder):
        return {}
    return remade(Table.open(folder).state(APP), bootstrap, topics, kafka or {})


def remade(state: State, bootstrap: str, topics: Collection[str], settings: Mapping[str, str]) -> dict[str, str]:
    """The same, for what a table has. Where no ids are known, a log that ends too early tells."""
    found = other_ids(state.topic_ids, topic_ids(bootstrap, topics, settings))
    known = {place: end for place, end in state.covered.ends().items() if place[0] in topics and place[0] not in found}
    ends = offsets_at(admin_client(bootstrap, settings), known, LATEST)
    for (topic, partition), end in ends.items():
        if end < known[topic, partition]:
            found[topic] = (
                f"{topic}-{partition} ends at {end}, and the archive has it up to {known[topic, partition]}: "
                "it was made anew, or has lost its end"
            )
    return found


def move_marks(
    state: State, bootstrap: str, topics: Collection[str], settings: Mapping[str, str]
) -> dict[TopicPartition, str]:
    """Sets the marks of these topics to where they are safe in the archive; gives what was refused. A topic that was
    made anew has its marks at 0, so that nothing of it is free: also one that is made anew just while they are set, and
    one whose marks were left by others. Raises BrokerUnreachable."""
    ends = {place: end for place, end in state.covered.ends().items() if place[0] in topics}
    gone = remade(state, bootstrap, topics, settings)
    refused = set_marks(bootstrap, {place: end for place, end in ends.items() if place[0] not in gone}, settings)
    gone |= remade(state, bootstrap, topics, settings)
    set_marks(bootstrap, {place: 0 for place in ends if place[0] in gone}, settings)
    return refused
