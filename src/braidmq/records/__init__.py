"""RecordBatch v2, the one format in which every record in every log lies, and the mapping of messages to records.

Most of the house handles a batch as opaque bytes behind a 61-byte header (`Batch`). Only where a record itself is
needed (another protocol reads it, a time is looked up, a topic is compacted) is it opened, with a bound on what may
come out.
"""

from braidmq.records._batch import (
    BATCH_HEADER_BYTES,
    BATCH_OVERHEAD_BYTES,
    CODEC_MASK,
    NO_PRODUCER,
    PREFIX_BYTES,
    UNUSUAL_BITS,
    Batch,
    Buffer,
    batch_prefix,
    batches_in,
    parse_batch,
    resealed,
    split_batches,
    with_append_time,
)
from braidmq.records._checksums import CHECKS_VIEWS, checksum, extend_checksum
from braidmq.records._codecs import Codec, decompress
from braidmq.records._legacy import downgrade_batches, upgrade_message_set
from braidmq.records._mapping import (
    Packed,
    batch_messages,
    batch_packed,
    key_of_content,
    message_record,
    messages_of,
    packed_content,
    record_content,
    record_message,
    unpacked,
)
from braidmq.records._records import (
    RECORDS_BYTES_MAX,
    Marker,
    Record,
    build_batch,
    build_marker,
    read_marker,
    read_records,
)

__all__ = [
    "BATCH_HEADER_BYTES",
    "BATCH_OVERHEAD_BYTES",
    "CHECKS_VIEWS",
    "CODEC_MASK",
    "NO_PRODUCER",
    "PREFIX_BYTES",
    "RECORDS_BYTES_MAX",
    "UNUSUAL_BITS",
    "Batch",
    "Buffer",
    "Codec",
    "Marker",
    "Packed",
    "Record",
    "batch_messages",
    "batch_packed",
    "batch_prefix",
    "batches_in",
    "build_batch",
    "build_marker",
    "checksum",
    "decompress",
    "downgrade_batches",
    "extend_checksum",
    "key_of_content",
    "message_record",
    "messages_of",
    "packed_content",
    "parse_batch",
    "read_marker",
    "read_records",
    "record_content",
    "record_message",
    "resealed",
    "split_batches",
    "unpacked",
    "upgrade_message_set",
    "with_append_time",
]
