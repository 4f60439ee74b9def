"""`braid doctor`: is this machine fit to run a node with these settings? It looks and measures, and changes nothing."""

from collections.abc import Iterator

import msgspec
from rich.console import Console
from rich.text import Text

from braidmq.cli import _errors
from braidmq.cli._doctor._disk import Progress, check_disk
from braidmq.cli._doctor._machine import ClockWatch, check_compiled, check_file_limits, check_python
from braidmq.cli._doctor._reach import check_database, check_ports
from braidmq.cli._render import show_rows
from braidmq.model.finding import Finding, Standing
from braidmq.settings import Settings

_COLOURS = {Standing.OK: "green", Standing.WARN: "yellow", Standing.FAIL: "bold red"}


def run_doctor(settings: Settings, *, output: str) -> int:
    """Run all checks and print what they found; 1 when one fails."""
    findings = []
    # The state of the measurement is for a person who waits, so it goes to the error output, and only to a terminal.
    with Console(stderr=True).status("looking at this machine") as status:
        for finding in _examine(settings, lambda done, total: status.update(f"measuring the disk: {done} of {total}")):
            findings.append(finding)
            if output == "table":
                print_finding(finding)
    if output != "table":
        show_rows(msgspec.to_builtins(findings), (), output)
    return _errors.FAILED if any(finding.standing is Standing.FAIL for finding in findings) else _errors.DONE


def _examine(settings: Settings, progress: Progress) -> Iterator[Finding]:
    clock = ClockWatch()
    yield check_python()
    yield check_compiled()
    yield check_file_limits(settings)
    yield from check_disk(settings.node.data, progress)
    yield from check_ports(settings)
    yield check_database(settings)
    yield clock.check()


def print_finding(finding: Finding) -> None:
    """One line, and another for what is to be done."""
    line = Text.assemble(
        (f"{finding.standing:<4}", _COLOURS[finding.standing]), f"  {finding.check:<18}  {finding.found}"
    )
    if finding.advice:
        line.append(f"\n{'':<26}to do: {finding.advice}")
    Console(soft_wrap=True).print(line)
