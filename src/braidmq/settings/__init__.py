"""The settings of a node, from file, environment and flags into frozen structs.

`Settings` says what there is; `load` reads it; `keys` is the table that everything printed comes from.
"""

from braidmq.settings._keys import Key, keys, shown_settings
from braidmq.settings._load import (
    CONFIG_VARIABLE,
    DEFAULT_ORIGIN,
    READY_FILE_VARIABLE,
    Given,
    Loaded,
    flag,
    load,
)
from braidmq.settings._page import reference_page
from braidmq.settings._secrets import redact_url
from braidmq.settings._structs import (
    ArchiveSettings,
    CursorSettings,
    GroupsSettings,
    HalvesSettings,
    HttpSettings,
    KafkaSettings,
    LoggingSettings,
    LogSettings,
    NodeSettings,
    PublishSettings,
    QuerySettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
    StoreSettings,
    TelemetrySettings,
    TimersSettings,
    TopicsSettings,
    TraceSettings,
)

__all__ = [
    "CONFIG_VARIABLE",
    "DEFAULT_ORIGIN",
    "READY_FILE_VARIABLE",
    "ArchiveSettings",
    "CursorSettings",
    "Given",
    "GroupsSettings",
    "HalvesSettings",
    "HttpSettings",
    "KafkaSettings",
    "Key",
    "Loaded",
    "LogSettings",
    "LoggingSettings",
    "NodeSettings",
    "PublishSettings",
    "QuerySettings",
    "RocketMQGrpcSettings",
    "RocketMQSettings",
    "Settings",
    "StoreSettings",
    "TelemetrySettings",
    "TimersSettings",
    "TopicsSettings",
    "TraceSettings",
    "flag",
    "keys",
    "load",
    "redact_url",
    "reference_page",
    "shown_settings",
]
