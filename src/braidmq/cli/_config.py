"""`braid config show`: each value beside its origin."""

import msgspec

from braidmq.settings import Key, Loaded, keys


def show(loaded: Loaded, *, as_json: bool) -> None:
    """Print all settings, for people or for machines."""
    shown = {path: (_text(key, loaded), loaded.origins[path]) for path, key in keys().items()}
    if as_json:
        content = {path: {"value": value, "origin": origin} for path, (value, origin) in shown.items()}
        print(msgspec.json.format(msgspec.json.encode(content)).decode())
        return
    widths = max(map(len, shown)), max(len(value) for value, _ in shown.values())
    for path, (value, origin) in shown.items():
        print(f"{path:<{widths[0]}}  {value:<{widths[1]}}  {origin}")


def _text(key: Key, loaded: Loaded) -> str:
    if key.path == "store.url":
        return key.show(loaded.settings.store_url)
    return key.show(getattr(getattr(loaded.settings, key.section), key.name))
