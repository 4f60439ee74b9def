"""`braid config show`: each value beside its origin."""

import msgspec

from braidmq.settings import Loaded, shown_settings


def show(loaded: Loaded, *, as_json: bool) -> None:
    """Print all settings, for people or for machines."""
    shown = {path: (text, loaded.origins[path]) for path, text in shown_settings(loaded.settings).items()}
    if as_json:
        content = {path: {"value": value, "origin": origin} for path, (value, origin) in shown.items()}
        print(msgspec.json.format(msgspec.json.encode(content)).decode())
        return
    widths = max(map(len, shown)), max(len(value) for value, _ in shown.values())
    for path, (value, origin) in shown.items():
        print(f"{path:<{widths[0]}}  {value:<{widths[1]}}  {origin}")
