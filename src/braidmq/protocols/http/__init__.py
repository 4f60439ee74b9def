"""HTTP: health, metrics and the OpenAPI, served by Litestar on uvicorn inside the node's own loop.

One file under `controllers/` for each resource; `_app` puts them together and refuses a route that does not
declare what it needs; `_problems` turns every error into problem+json.
"""

from braidmq.protocols.http._listener import HttpListener
from braidmq.protocols.http._services import HttpServices

__all__ = ["HttpListener", "HttpServices"]
