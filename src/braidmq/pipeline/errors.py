"""What can go wrong between messages and data, beyond what can go wrong in the house."""

from braidmq.model.errors import BraidError


class ExtraMissing(BraidError):
    """The data pipeline is not installed: pip install 'braidmq[pipeline]'."""

    code = "pipeline_extra_missing"


class JavaMissing(BraidError):
    """Spark needs Java 17 or later, and none was found."""

    code = "java_missing"


class InvalidOption(BraidError):
    """An option of the source or the sink does not exist, or cannot have this value."""

    code = "invalid_option"


class DataLost(BraidError):
    """Messages that should be read are no longer there."""

    code = "data_lost"


class TopicRemade(BraidError):
    """A topic was deleted and made anew under its name: it is not the one that was read until now."""

    code = "topic_remade"


class BrokerUnreachable(BraidError):
    """No broker answers."""

    code = "broker_unreachable"
    retriable = True


class ReadFailed(BraidError):
    """A broker answered, but did not give what was asked for."""

    code = "read_failed"


class SendFailed(BraidError):
    """Messages were not stored."""

    code = "send_failed"
    retriable = True


class TopicMissing(BraidError):
    """The topic that a job reads is not there yet."""

    code = "topic_missing"
    retriable = True
