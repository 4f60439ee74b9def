"""The clients, written once: `tools/unasync.py` makes `_sync` of this folder."""
