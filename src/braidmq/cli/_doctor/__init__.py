"""`braid doctor`: is this machine fit to run a node with these settings? It looks and measures, and changes nothing."""

import os
import sys
from collections.abc import Iterator

import msgspec

from braidmq.cli import _errors
from braidmq.cli._doctor._disk import check_disk
from braidmq.cli._doctor._finding import Finding, Standing
from braidmq.cli._doctor._machine import ClockWatch, check_file_limits, check_python
from braidmq.cli._doctor._reach import check_database, check_ports
from braidmq.settings import Settings

_COLOURS = {Standing.OK: "\033[32m", Standing.WARN: "\033[33m", Standing.FAIL: "\033[31m"}


def run_doctor(settings: Settings, *, as_json: bool) -> int:
    """Run all checks and print what they found; 1 when one fails."""
    findings = []
    for finding in _examine(settings):
        findings.append(finding)
        if not as_json:
            _print_line(finding)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(findings)).decode())
    return _errors.FAILED if any(finding.standing is Standing.FAIL for finding in findings) else _errors.DONE


def _examine(settings: Settings) -> Iterator[Finding]:
    clock = ClockWatch()
    yield check_python()
    yield check_file_limits(settings)
    yield from check_disk(settings.node.data, _show_progress)
    yield from check_ports(settings)
    yield check_database(settings)
    yield clock.check()


def _print_line(finding: Finding) -> None:
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    before, after = (_COLOURS[finding.standing], "\033[0m") if colours else ("", "")
    print(f"{before}{finding.standing:<4}{after}  {finding.check:<12}  {finding.found}")
    if finding.advice:
        print(f"{'':<20}to do: {finding.advice}")


def _show_progress(done: int, total: int) -> None:
    """A line that replaces itself, for a person who waits; nothing for a script."""
    if sys.stderr.isatty():
        text = f"measuring the disk: {done} of {total}" if done + 1 < total else ""
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
