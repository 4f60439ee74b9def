"""SCRAM's mechanisms in Kafka's numbers."""

from collections.abc import Mapping
from typing import Final

from braidmq.model.credentials import ScramMechanism
from braidmq.model.errors import UnknownMechanism

_MECHANISMS: Final[Mapping[int, ScramMechanism]] = {1: ScramMechanism.SHA_256, 2: ScramMechanism.SHA_512}
NUMBERS: Final[Mapping[ScramMechanism, int]] = {mechanism: number for number, mechanism in _MECHANISMS.items()}


def mechanism_of(number: int) -> ScramMechanism:
    """Raises UnknownMechanism."""
    mechanism = _MECHANISMS.get(number)
    if mechanism is None:
        raise UnknownMechanism("Unknown SCRAM mechanism")
    return mechanism
