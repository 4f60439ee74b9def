"""Styles, scripts and pictures, as browsers keep them: an address names the content it leads to, so that a browser asks
once and never shows what an older node had. They are small and few, so they are held in memory, and compressed when
somebody first asks.
"""

import gzip
import hashlib
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple

from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, FromQuery

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.http import needs

FOLDER: Final = Path(__file__).parent / "static"
ADDRESS: Final = "/console/static"
_FOR_GOOD: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"
_FILES_MAX: Final = 64
_MEDIA_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class _File(NamedTuple):
    content: bytes
    version: str
    media_type: str


def address_of(name: str) -> str:
    """Where the file is found, as it is now. One that is not there, as in a checkout that could not fetch it, keeps its
    plain address."""
    file = _found(name)
    return f"{ADDRESS}/{name}" if file is None else f"{ADDRESS}/{name}?v={file.version}"


@get("/static/{path:path}", opt=needs(Action.PROBE, ResourceKind.NODE), name="console-static")
async def static_file(
    request: Request[Any, Any, State], path: FromPath[Path], v: FromQuery[str] = ""
) -> Response[bytes]:
    """Kept for good by whoever asked for this very content; others ask again, and hear if nothing changed."""
    file = _found(str(path).lstrip("/"))
    if file is None:
        raise NotFoundException("there is no such file")
    headers = {
        "cache-control": _FOR_GOOD if v == file.version else _ASK_AGAIN,
        "etag": f'"{file.version}"',
        "vary": "accept-encoding",
        "x-content-type-options": "nosniff",
    }
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(file.content, media_type=file.media_type, headers=headers)
    return Response(_packed(file.content), media_type=file.media_type, headers={**headers, "content-encoding": "gzip"})


@lru_cache(_FILES_MAX)
def _found(name: str) -> _File | None:
    path = FOLDER / name
    if ".." in path.parts or not path.is_file():
        return None
    content = path.read_bytes()
    media_type = _MEDIA_TYPES.get(path.suffix, "text/plain")
    return _File(content, hashlib.sha256(content).hexdigest()[:16], media_type)


@lru_cache(_FILES_MAX)
def _packed(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=6, mtime=0)
