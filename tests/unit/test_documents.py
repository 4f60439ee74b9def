"""What the documents link to exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_page_that_the_documents_link_to_exists() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
