"""The client's side of a login, by the examples of the standard."""

import pytest

from braidmq.pipeline.errors import ReadFailed
from braidmq.pipeline.source._wire import Scram


def exchange() -> tuple[Scram, bytes]:
    """The example of RFC 7677."""
    scram = Scram("SCRAM-SHA-256", "user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")
    assert scram.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    final = scram.final(b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    return scram, final


def test_the_password_is_proved_without_being_sent() -> None:
    scram, final = exchange()
    assert final == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    scram.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_a_broker_that_does_not_know_the_password_is_not_believed() -> None:
    scram, _ = exchange()
    with pytest.raises(ReadFailed, match="did not prove"):
        scram.check(b"v=AAAATRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_a_broker_that_answers_another_login_is_not_believed() -> None:
    with pytest.raises(ReadFailed, match="not one of SCRAM"):
        Scram("SCRAM-SHA-512", "user", "pencil").final(b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
