"""The web console: pages rendered here, over the same services as the OpenAPI.

`pages/` has a file for each page, `templates/` its looks, `words/` what it says in other languages. Styles, scripts and
icons of others are fetched at build time (tools/console_assets.py); the few lines of our own are in `static/`.
"""

from typing import TYPE_CHECKING, Final

from braidmq.console import pages
from braidmq.console._sessions import Sessions, kept_token
from braidmq.console.pages import Part

if TYPE_CHECKING:
    from litestar import Router

ROOT: Final = "/console"
"""Where every address of the console begins."""

__all__ = ["ROOT", "Part", "Sessions", "console_routes", "kept_token", "part_of"]


def part_of(path: str) -> Part:
    """The part of the console that an address under `ROOT` is in."""
    return pages.part_of(path.removeprefix(ROOT).strip("/").partition("/")[0])


def console_routes(token: str, *parts: Part) -> "Router":
    """What lies under `ROOT`, for those who know the token: some parts, or without any everything."""
    from braidmq.console._app import console_router  # brings Jinja: not where there is no console

    return console_router(Sessions(token), parts or pages.PARTS)
