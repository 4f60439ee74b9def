"""What must not be shown: passwords inside addresses."""

import re

HIDDEN = "***"

_USER_PASSWORD = re.compile(r"(?P<before>^[^/?#]*//[^/?#@:]*:)(?P<password>.*)(?P<after>@)", re.DOTALL)
_QUERY_PASSWORD = re.compile(r"(?P<before>[?&](?:[^=&]*(?:password|passwd|secret|token|key))=)[^&#]*", re.IGNORECASE)


def redact_url(url: str) -> str:
    """The address without its passwords; up to the last `@`, since an unescaped password may hold one."""
    shown = _USER_PASSWORD.sub(rf"\g<before>{HIDDEN}\g<after>", url)
    return _QUERY_PASSWORD.sub(rf"\g<before>{HIDDEN}", shown)
