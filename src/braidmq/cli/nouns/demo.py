"""`braid demo`: a payment scenario, so that every page has life."""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from braidmq.cli._call import Call, DryRun, Yes, on_node
from braidmq.cli._progress import bar

if TYPE_CHECKING:
    from braidmq.cli._demo import Demo


@on_node
def command(
    call: Call,
    minutes: Annotated[float, typer.Option(min=0, max=60, help="How long producers go on afterwards.")] = 1.0,
    rate: Annotated[float, typer.Option(min=1, max=1000, help="Payments in a second meanwhile.")] = 20.0,
    messages: Annotated[int, typer.Option(min=60, max=100_000, help="Payments at the beginning.")] = 600,
    clean: Annotated[bool, typer.Option("--clean", help="Take away all that the demo has made.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Fill a running node with a payment scenario: producers on three protocols, a group that is behind, dead letters,
    delayed and transactional messages. All of it begins with demo-; `braid demo --clean` takes it away again."""
    from braidmq.cli._demo import WHAT, Demo

    demo = Demo(call)
    if clean:
        _clean(call, demo, dry_run=dry_run, yes=yes)
        return
    if dry_run:
        print("\n".join(WHAT))
        call.note("nothing was made: this was a dry run")
        return
    demo.make()
    with bar("payments") as advance:
        sent = asyncio.run(demo.send(messages, advance))
    demo.work()
    told: dict[str, Any] = {
        "payments": sent,
        "dead_letters": demo.bury(),
        "delayed": demo.delay(),
        "transactional": demo.prepare(),
    }
    if call.output == "table":
        print("\n".join(WHAT))
    if minutes > 0:
        call.note(f"producers go on for {'a minute' if minutes == 1 else f'{minutes:g} minutes'}; Ctrl-C ends them")
        with bar("live") as advance, contextlib.suppress(KeyboardInterrupt):
            told["live_payments"] = asyncio.run(demo.live(minutes, rate, advance))
    call.one(told)
    call.note("to take all of it away: braid demo --clean")


def _clean(call: Call, demo: "Demo", *, dry_run: bool, yes: bool) -> None:
    remains = demo.remains()
    if not remains:
        call.note("there is nothing of the demo")
        return

    def do(dry: bool) -> list[dict[str, str]]:
        if not dry:
            demo.remove(remains)
        return remains

    question = "Take all of this away?"
    call.change(do, lambda found: call.rows(found, "what", "name"), question=question, dry_run=dry_run, yes=yes)
