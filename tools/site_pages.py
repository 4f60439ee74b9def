"""A hook of the documentation site: pages that lie beside the code are part of it, too.

Links to them are written for readers of the repository, and followed here: `../tests/compat/FINDINGS.md` is
`findings.md`.
"""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
BESIDE_THE_CODE = {"tests/compat/FINDINGS.md": "findings.md"}


def on_files(files: Files, *, config: Any) -> Files:
    """Called by mkdocs once it knows the pages of docs/."""
    for source, name in BESIDE_THE_CODE.items():
        files.append(File.generated(config, name, content=_from_docs((ROOT / source).read_text())))
    return files


def _from_docs(text: str) -> str:
    """Links of a page in tests/compat, as a page in docs/ writes them."""
    return text.replace("](../../docs/", "](")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for each page before it is rendered."""
    for source, name in BESIDE_THE_CODE.items():
        markdown = markdown.replace(f"](../{source}", f"]({name}")
    return markdown
