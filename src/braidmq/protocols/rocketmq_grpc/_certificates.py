"""The certificate that clients are shown which want TLS and check nothing: made at the first start, and kept."""

import datetime
import os
import socket
import ssl
from pathlib import Path
from typing import Final

VALID_DAYS: Final = 3650
RENEW_DAYS: Final = 30


def server_tls(file: Path, *, is_own: bool) -> ssl.SSLContext:
    """From a file with key and certificate. `is_own` makes one where there is none, or where it will not be valid much
    longer. Blocks. Raises OSError, ssl.SSLError."""
    if is_own and not _is_young(file):
        _make(file)
    try:
        return _loaded(file)
    except ssl.SSLError:
        if not is_own:
            raise
    _make(file)  # somebody has damaged it
    return _loaded(file)


def _loaded(file: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(file)
    context.set_alpn_protocols(["h2"])
    return context


def _is_young(file: Path) -> bool:
    """By when it was made, and not by a look inside: what could look inside takes 12 MB."""
    try:
        made = datetime.datetime.fromtimestamp(file.stat().st_mtime, datetime.UTC)
    except FileNotFoundError:
        return False
    return _now() < made + datetime.timedelta(days=VALID_DAYS - RENEW_DAYS)


def _make(file: Path) -> None:
    """All or nothing, and for this user only."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(_self_signed())
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)


def _self_signed() -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "braid")])
    hosts = [x509.DNSName("localhost"), x509.DNSName(socket.gethostname())]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_now() - datetime.timedelta(days=1))
        .not_valid_after(_now() + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
