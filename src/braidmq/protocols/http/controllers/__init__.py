"""One file for each resource of the HTTP interface. A controller is listed here to be served."""

from braidmq.protocols.http.controllers.health import HealthController
from braidmq.protocols.http.controllers.metrics import MetricsController
from braidmq.protocols.http.controllers.name_servers import NameServerController
from braidmq.protocols.http.controllers.version import VersionController

CONTROLLERS = (HealthController, MetricsController, NameServerController, VersionController)

__all__ = ["CONTROLLERS"]
