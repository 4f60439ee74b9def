"""What users prove their passwords by. Kept for the accounts that are to come: nobody is asked for one yet.

Clients give what SCRAM makes of a password, and of that only the two keys are kept with which a proof can be checked
(RFC 5802): who reads the store can neither log in nor try passwords faster than anybody else.
"""

import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

from braidmq.model.credentials import ITERATIONS_MAX, ITERATIONS_MIN, ScramCredential, ScramMechanism
from braidmq.model.errors import InvalidCredential
from braidmq.store import Catalog

_HASHES: Final = {ScramMechanism.SHA_256: "sha256", ScramMechanism.SHA_512: "sha512"}


def scram_credential(
    user: str, mechanism: ScramMechanism, iterations: int, salt: bytes, salted_password: bytes
) -> ScramCredential:
    """Raises InvalidCredential."""
    check_iterations(iterations)
    if not salted_password:
        raise InvalidCredential("The salted password must not be empty")
    name = _HASHES[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", name)
    return ScramCredential(
        user=user,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        stored_key=hashlib.new(name, client_key).digest(),
        server_key=hmac.digest(salted_password, b"Server Key", name),
    )


def check_iterations(iterations: int) -> None:
    """Raises InvalidCredential."""
    if iterations < ITERATIONS_MIN:
        raise InvalidCredential("Too few iterations")
    if iterations > ITERATIONS_MAX:
        raise InvalidCredential("Too many iterations")


class Credentials:
    """All users' credentials."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def of(self, user: str) -> list[ScramCredential]:
        """One user's, of every mechanism that the user has."""
        found = (self._catalog.scram_credential(user, mechanism) for mechanism in ScramMechanism)
        return [each for each in found if each is not None]

    def users(self) -> list[str]:
        """Who has any, in order."""
        return sorted({each.user for each in self._catalog.scram_credentials()})

    async def revise(
        self, user: str, *, put: Sequence[ScramCredential] = (), delete: Sequence[ScramMechanism] = ()
    ) -> None:
        """Keep and forget, all or none. Raises InvalidCredential, UnknownCredential."""
        if not user:
            raise InvalidCredential("Username must not be empty")
        await self._catalog.revise_credentials(user, put=put, delete=delete)
