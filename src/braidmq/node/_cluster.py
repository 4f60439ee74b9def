"""The name of the cluster that this node belongs to: drawn once, and kept in the catalog that its nodes share."""

import base64
import uuid

from braidmq.store import Catalog

SETTING = "cluster.id"


async def cluster_id(catalog: Catalog) -> str:
    """22 characters that no other cluster has, as Kafka writes such names."""
    if (kept := catalog.setting(SETTING)) is not None:
        return kept.value
    drawn = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    return (await catalog.set_setting(SETTING, drawn, changed_by="node")).value
