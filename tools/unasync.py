"""`python tools/unasync.py [--check]`: makes the blocking twin of the SDK from its async source.

Words are replaced, nothing is understood: whatever differs in more than a word lies in `sdk/_concurrency.py`, in two
dresses. `--check` changes nothing, and fails when the twin is not what the source makes.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "braidmq" / "sdk" / "_async"
TWIN = ROOT / "src" / "braidmq" / "sdk" / "_sync"

REPLACEMENTS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\basync (def|with|for)\b", r"\1"),
        (r"\bawait ", ""),
        (r"\b__a(enter|exit|iter|next)__", r"__\1__"),
        (r"\bStopAsyncIteration\b", "StopIteration"),
        (r"\basynccontextmanager\b", "contextmanager"),
        (r"\baclose\b", "close"),
        (r"\bsdk\._async\b", "sdk._sync"),
        (r"\bAwaitable\[((?:[^\[\]]|\[[^\[\]]*\])*)\]", r"\1"),
        (r"(Callable\[\[Message\], bool \| None\]) \| \1", r"\1"),
        (r"\b_?Async(?=[A-Z])", ""),
        (r"\basync_(?=[a-z])", ""),
    )
]
OPENING = "# Made by tools/unasync.py from ../_async: change it there.\n"


def twin_of(text: str) -> str:
    """The blocking twin of a module."""
    for pattern, replacement in REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return OPENING + text.replace("`_sync` of this folder", "this folder of `_async`")


def tidy(text: str, name: str) -> str:
    """As the formatter and the order of imports want it: shorter words make shorter lines."""
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--select", "I,F401", "--fix", "--quiet"], ["format", "--quiet"]):
        run = subprocess.run(
            [*ruff, *command, "--stdin-filename", name, "-"], input=text, capture_output=True, text=True, cwd=ROOT
        )
        text = run.stdout
    return text


def twins() -> dict[Path, str]:
    """Every module of the twin, as it should be."""
    return {
        TWIN / path.relative_to(SOURCE): tidy(twin_of(path.read_text()), str(TWIN / path.relative_to(SOURCE)))
        for path in sorted(SOURCE.rglob("*.py"))
    }


def outdated(wanted: dict[Path, str]) -> list[Path]:
    """What is missing, differs, or should not be there."""
    present = set(TWIN.rglob("*.py"))
    wrong = [path for path, text in wanted.items() if path not in present or path.read_text() != text]
    return wrong + sorted(present - set(wanted))


def main(arguments: list[str]) -> int:
    """0 when the twin is (now) up to date."""
    wanted = twins()
    wrong = outdated(wanted)
    if "--check" in arguments:
        for path in wrong:
            print(f"{path.relative_to(ROOT)} is out of date: run python tools/unasync.py")
        return 1 if wrong else 0
    for path in wrong:
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
