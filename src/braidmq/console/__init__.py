"""The web console: pages rendered here, over the same services as the OpenAPI.

`pages/` has a file for each page, `templates/` its looks, `words/` what it says in other languages. Styles, scripts and
icons of others are fetched at build time (tools/console_assets.py); the few lines of our own are in `static/`.
"""

from typing import TYPE_CHECKING, Final

from braidmq.console._sessions import Sessions, kept_token

if TYPE_CHECKING:
    from litestar import Router

ROOT: Final = "/console"
"""Where every address of the console begins."""

__all__ = ["ROOT", "Sessions", "console_routes", "kept_token"]


def console_routes(token: str) -> "Router":
    """Everything under `ROOT`, for those who know the token."""
    from braidmq.console._app import console_router  # costs 7 MB: not before somebody opens a page

    return console_router(Sessions(token))
