"""What operators see and do: the one set of services under the OpenAPI and the console, and through the OpenAPI under
the command line and the SDK.

Each module is one kind of thing. It reads what the other parts of the core know, in the shape that people look at, and
passes on what they want changed; it decides nothing itself.
"""

from braidmq.core.desk._named import named_filter
from braidmq.core.desk._pages import PAGE_SIZE, PAGE_SIZE_MAX, Page, PageAsk, Sorts, page_of

__all__ = ["PAGE_SIZE", "PAGE_SIZE_MAX", "Page", "PageAsk", "Sorts", "named_filter", "page_of"]
