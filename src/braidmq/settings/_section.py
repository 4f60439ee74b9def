"""What every section of the settings is, and the marks that its fields may have."""

import msgspec

MIB = 1 << 20
SECRET = {"secret": True}
"""Holds a password somewhere inside."""
HIDDEN_WHOLE = {"secret": True, "whole": True}
"""Is a password."""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One room's settings. The docstring of each section is its heading in the reference page."""
