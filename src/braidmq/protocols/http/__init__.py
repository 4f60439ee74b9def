"""HTTP: health, metrics and the OpenAPI, served by Litestar on uvicorn inside the node's own loop.

One file under `controllers/` for each resource; `_app` puts them together and refuses a route that does not
declare what it needs; `_problems` turns every error into problem+json.
"""

from braidmq.protocols.http._changes import name_in_audit
from braidmq.protocols.http._desk import DESK, chosen
from braidmq.protocols.http._late import LateRoutes
from braidmq.protocols.http._listener import HttpListener
from braidmq.protocols.http._needs import Noted, needs
from braidmq.protocols.http._operations_services import OperationsServices
from braidmq.protocols.http._problems import status_of
from braidmq.protocols.http._services import HttpServices
from braidmq.protocols.http._waiting import WaitingRoom

__all__ = [
    "DESK",
    "HttpListener",
    "HttpServices",
    "LateRoutes",
    "Noted",
    "OperationsServices",
    "WaitingRoom",
    "chosen",
    "name_in_audit",
    "needs",
    "status_of",
]
