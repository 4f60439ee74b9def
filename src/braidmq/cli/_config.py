"""`braid config show`: each value beside its origin."""

from braidmq.cli._render import show_one, show_rows
from braidmq.settings import Loaded, shown_settings


def show(loaded: Loaded, *, output: str) -> None:
    """Print all settings, for people or for machines."""
    shown = {path: (text, loaded.origins[path]) for path, text in shown_settings(loaded.settings).items()}
    if output == "csv":
        show_rows(
            [{"key": path, "value": value, "origin": origin} for path, (value, origin) in shown.items()], (), output
        )
        return
    if output != "table":
        show_one({path: {"value": value, "origin": origin} for path, (value, origin) in shown.items()}, output)
        return
    widths = max(map(len, shown)), max(len(value) for value, _ in shown.values())
    for path, (value, origin) in shown.items():
        print(f"{path:<{widths[0]}}  {value:<{widths[1]}}  {origin}")
