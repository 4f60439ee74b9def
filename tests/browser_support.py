"""What browser tests share."""

from collections.abc import Callable

from playwright.sync_api import Page

OpenPage = Callable[..., Page]
