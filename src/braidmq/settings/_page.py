"""The reference page of all settings, written from the structs. A test holds `docs/settings.md` to it."""

import inspect
from collections.abc import Iterator

from braidmq.model.topic_settings import TOPIC_SETTINGS
from braidmq.settings._keys import Key, keys, sections
from braidmq.settings._load import CONFIG_VARIABLE, READY_FILE_VARIABLE

_OPENING = f"""\
# Settings

<!-- Made by `braid config reference > docs/settings.md`; do not edit by hand. -->

A node reads its settings from a TOML file (`braid up --config FILE`, or the variable `{CONFIG_VARIABLE}`),
from the environment, and from flags. A flag beats the environment, the environment beats the file, the file
beats the default. Every key also is a flag: `braid up --set log.flush=interval`. An unknown key is an
error.

Sizes take B, KiB, MiB, GiB, kB, MB and GB; times take ms, s, min, h and d. Without a unit, a number is in
the unit that ends the key's name. Relative paths start at the working folder. `braid config show` prints
each value and where it came from; `braid config check FILE` checks a file and starts nothing.

    [node]
    data = "/var/lib/braid"

    [log]
    flush = "commit"
    segment_bytes = "128MiB"

`{READY_FILE_VARIABLE}` (or `--ready-file PATH`) names a file that the node writes, once it is ready, with the
addresses it listens on, as JSON.
"""


_TOPICS = """\
## Settings of topics

Each topic has settings of its own, by the names that Kafka gives them. They are set when it is made, and changed at
any time, with Kafka's tools (`kafka-configs`) or any Kafka client. What says "kept without effect" is taken and shown,
so that tools which set it work, and changes nothing here.

| name | default | the node's name for the default | meaning |
|---|---|---|---|"""


def reference_page() -> str:
    """All settings as a Markdown page."""
    return "\n".join([_OPENING, *_sections(), _TOPICS, *_topic_rows(), ""])


def _topic_rows() -> Iterator[str]:
    for setting in TOPIC_SETTINGS.values():
        cells = (setting.name, setting.default, setting.node_name)
        yield "| " + " | ".join([*(f"`{cell}`" if cell else "" for cell in cells), setting.documentation]) + " |"


def _sections() -> Iterator[str]:
    for section, struct in sections().items():
        yield f"## [{section}]\n\n{inspect.getdoc(struct)}\n"
        yield "| key | default | allowed | environment | meaning |\n|---|---|---|---|---|"
        yield from (_row(key) for key in keys().values() if key.section == section)
        yield ""


def _row(key: Key) -> str:
    default = key.show(key.default)
    cells = (
        f"`{key.name}`",
        f"`{default}`" if default else "",
        key.kind.allowed,
        f"`{key.variable}`",
        key.description,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
