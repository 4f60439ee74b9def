"""Who asks, as a request tells: where it comes from, and what its client calls itself."""

from typing import Any, Final

from litestar import Request

from braidmq.core.desk.receivers import Caller

CLIENT_ID_HEADER: Final = "braid-client-id"
SOFTWARE_LENGTH_MAX: Final = 100


def caller_of(request: Request[Any, Any, Any]) -> Caller:
    """What cannot be printed of a name is left out."""
    host, port = ("", 0) if request.client is None else (request.client.host, request.client.port)
    headers = request.headers
    name, software = headers.get(CLIENT_ID_HEADER, ""), headers.get("user-agent", "")
    return Caller(host, port, _printable(name), _printable(software)[:SOFTWARE_LENGTH_MAX])


def _printable(text: str) -> str:
    return "".join(each for each in text if each.isprintable()).strip()
