"""Jars by their coordinates, fetched once into a cache outside the repository."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "braidmq" / "maven"
FETCH_LIMIT_S = 900
LOGGING = "org.slf4j:slf4j-nop:1.7.36"


class FetchFailed(Exception):
    """Maven did not bring what was asked for."""


def fetch_jars(name: str, coordinates: Sequence[str], *, alone: bool = False) -> str:
    """A classpath with these artifacts (`group:artifact:version`) and all that they need; with `alone`, only these."""
    folder = CACHE / name
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = "\n".join(coordinates)
        complete = folder / "complete"
        if not complete.exists() or complete.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            _run_maven(folder, coordinates, alone)
            complete.write_text(wanted)
    return str(folder / "jars" / "*")


def _run_maven(folder: Path, coordinates: Sequence[str], alone: bool) -> None:
    folder.mkdir(parents=True)
    (folder / "pom.xml").write_text(_project(coordinates, alone))
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'jars'}"]
    try:
        subprocess.run(
            command,
            cwd=folder,
            check=True,
            timeout=FETCH_LIMIT_S,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise FetchFailed(f"mvn could not fetch {', '.join(coordinates)}: {error.stdout!r} {error}") from error


def _project(coordinates: Sequence[str], alone: bool) -> str:
    nothing_else = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    dependencies = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>".format(
            *map(escape, each.split(":")), nothing_else if alone else ""
        )
        for each in coordinates
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>compat</groupId><artifactId>compat</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
