# Made by tools/unasync.py from ../_async: change it there.
"""The clients, written once: `tools/unasync.py` makes this folder of `_async`."""
