"""What is kept of a user's password so that it can be checked by SCRAM (RFC 5802), and cannot be found out."""

import enum
from typing import Final

import msgspec

ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384


class ScramMechanism(enum.StrEnum):
    """By the names that SASL gives them."""

    SHA_256 = "SCRAM-SHA-256"
    SHA_512 = "SCRAM-SHA-512"


class ScramCredential(msgspec.Struct, frozen=True, kw_only=True):
    """One user's, for one mechanism. Neither the password nor what stands for it on the wire can be made of this."""

    user: str
    mechanism: ScramMechanism
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        """Without what nobody is to see."""
        return f"ScramCredential(user={self.user!r}, mechanism={self.mechanism.value!r}, iterations={self.iterations})"
