"""The reference page of all settings, written from the structs. A test holds `docs/settings.md` to it."""

import inspect
from collections.abc import Iterator

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


def reference_page() -> str:
    """All settings as a Markdown page."""
    return "\n".join([_OPENING, *_sections()])


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
