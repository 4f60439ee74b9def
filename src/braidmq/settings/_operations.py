"""The sections of what watches over a node: alarms, inspection and the audit log."""

from typing import Annotated, Literal

from msgspec import Meta

from braidmq.settings._section import HIDDEN_WHOLE, Section


class AlarmsSettings(Section, frozen=True):
    """Alarms, and the mail server that sends word of them."""

    evaluate: Annotated[
        Literal["on", "off"], Meta(description="Whether the rules are looked at, every ten seconds.")
    ] = "on"
    smtp_host: Annotated[
        str, Meta(description="The mail server; empty means that no mail is sent.", pattern=r"^[A-Za-z0-9.:_-]{0,255}$")
    ] = ""
    smtp_port: Annotated[int, Meta(description="The mail server's port.", ge=1, le=65_535)] = 25
    smtp_tls: Annotated[
        Literal["off", "starttls", "tls"],
        Meta(description="How the connection to the mail server is secured: not, after a greeting, or at once."),
    ] = "off"
    smtp_user: Annotated[str, Meta(description="Who the node is to the mail server; empty means nobody.")] = ""
    smtp_password: Annotated[str, Meta(description="The password of that user.", extra=HIDDEN_WHOLE)] = ""
    smtp_from: Annotated[str, Meta(description="The sender of mails.", pattern=r"^[^\s<>]{1,254}$")] = (
        "braidmq@localhost"
    )


class InspectionSettings(Section, frozen=True):
    """The node's inspection of itself."""

    every_s: Annotated[int, Meta(description="How often the node inspects itself.", ge=60, le=30 * 86_400)] = 3_600


class AuditSettings(Section, frozen=True):
    """Who changed what."""

    keep_s: Annotated[
        int, Meta(description="How long entries of the audit log are kept.", ge=3_600, le=10 * 366 * 86_400)
    ] = 90 * 86_400
