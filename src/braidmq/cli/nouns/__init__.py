"""The commands, one file for each word behind `braid`. A file has `command`: a noun with its verbs, or one command.

A file is imported when its word is used. So that help is complete without that, the words are listed here with a line
about each.
"""

from typing import Final, NamedTuple


class Word(NamedTuple):
    """What may stand behind `braid`."""

    word: str
    module: str
    help: str


WORDS: Final = (
    Word("up", "up", "Start a node here, in the foreground. Ctrl-C stops it."),
    Word("doctor", "doctor", "Check whether this machine is fit to run a node, and say what to do where it is not."),
    Word("config", "config", "Look at settings of a node to be, and check them."),
    Word("context", "context", "Which node the commands speak with."),
    Word("topic", "topic", "Topics: list, make, change, delete."),
    Word("group", "group", "Groups: list, make, change, pause, delete."),
    Word("offset", "offset", "How far groups are, and moving them."),
    Word("subscription", "subscription", "Which group wants which messages of which topic."),
    Word("produce", "produce", "Send messages from a pipe or a template."),
    Word("consume", "consume", "Read messages to a pipe or a screen."),
    Word("message", "message", "Find, show, send and watch single messages."),
    Word("trace", "trace", "The life of a message, step by step."),
    Word("dlq", "dlq", "Dead letters: what groups could not work on."),
    Word("timer", "timer", "Delayed messages that wait for their time."),
    Word("tx", "tx", "Transactional messages that wait for a decision."),
    Word("instance", "instance", "Instances: tenants that see nothing of each other."),
    Word("node", "node", "The nodes that there are, and everything at a glance."),
    Word("connection", "connection", "Who is connected, on every protocol."),
    Word("alarm", "alarm", "What is wrong, what counts as wrong, and who is told."),
    Word("inspect", "inspect", "Let the node inspect itself, and read what it found."),
    Word("setting", "setting", "Settings of running nodes, from the centre."),
    Word("audit", "audit", "Who changed what, the latest first."),
    Word("sample", "sample", "Figures of the last day, of the node, a topic or a group."),
    Word("report", "report", "Who used what, from the pipeline's tables."),
    Word("archive", "archive", "Find archived messages, and send them again."),
    Word("pipeline", "pipeline", "Archive, reports and audits of messages, on Spark."),
    Word("bench", "bench", "Measure a running node, or run a bench of this checkout."),
    Word("top", "top", "A running node at a glance, live."),
    Word("demo", "demo", "Fill a running node with a payment scenario, so that every page has life."),
    Word("support-bundle", "support_bundle", "A zip with what people who help will ask for, without secrets."),
    Word("cheat", "cheat", "Examples to copy, by noun."),
    Word("completion", "completion", "What a shell needs to complete commands, topics and groups."),
    Word("version", "version", "The version of this software."),
)
