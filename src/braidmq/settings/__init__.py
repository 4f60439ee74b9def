"""The settings of a node, from file, environment and flags into frozen structs.

`Settings` says what there is; `load` reads it; `keys` is the table that everything printed comes from.
"""

from braidmq.settings._central import CENTRAL_ORIGIN, PUSHED, checked_text, effective, is_own, known_origins
from braidmq.settings._files import FileShares, FilesNeeded, file_limits, files_needed, shared_files
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
from braidmq.settings._operations import AlarmsSettings, AuditSettings, InspectionSettings
from braidmq.settings._page import reference_page
from braidmq.settings._secrets import redact_url
from braidmq.settings._structs import (
    ArchiveSettings,
    CursorSettings,
    GroupsSettings,
    HalvesSettings,
    HttpSettings,
    KafkaSettings,
    LiteSettings,
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
    "CENTRAL_ORIGIN",
    "CONFIG_VARIABLE",
    "DEFAULT_ORIGIN",
    "PUSHED",
    "READY_FILE_VARIABLE",
    "AlarmsSettings",
    "ArchiveSettings",
    "AuditSettings",
    "CursorSettings",
    "FileShares",
    "FilesNeeded",
    "Given",
    "GroupsSettings",
    "HalvesSettings",
    "HttpSettings",
    "InspectionSettings",
    "KafkaSettings",
    "Key",
    "LiteSettings",
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
    "checked_text",
    "effective",
    "file_limits",
    "files_needed",
    "flag",
    "is_own",
    "keys",
    "known_origins",
    "load",
    "redact_url",
    "reference_page",
    "shared_files",
    "shown_settings",
]
