"""Where a cluster's scheduler is, and by which certificates it is reached: nothing goes unencrypted over a network."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.web_address import is_loopback

_DASKS_OWN = "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …TLS__CLIENT__CERT and …TLS__CLIENT__KEY"


class TlsFiles(Struct, frozen=True, kw_only=True):
    """Files in PEM format. What is None is looked for in Dask's own configuration."""

    ca: Path | None = None
    """Who vouches for the scheduler and the workers."""
    cert: Path | None = None
    """What says who we are."""
    key: Path | None = None
    """The private key of `cert`; it may stand in that file."""


def check_address(address: str) -> None:
    """Raise `UsageError` for an address over which others could read or change what is sent."""
    hint = "Start the scheduler with TLS, and name it as tls://host:8786."
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"The scheduler's address {address!r} is malformed: {error}.", hint=hint) from error
    if parts.scheme not in ("tls", "tcp") or not host:
        raise UsageError(f"{address!r} is no address of a scheduler.", hint=hint)
    if parts.scheme == "tcp" and not is_loopback(host):
        raise UsageError(
            f"{address} is not encrypted: anyone on the way could read the tasks and run programs on the workers.",
            hint=hint,
        )


def usable_files(named: TlsFiles, configured: Mapping[str, str | None]) -> TlsFiles:
    """Return the files to use: those that are named, else those of Dask's configuration (`ca`, `cert`, `key`). Blocks.

    Raises `UsageError` when one is missing, or is not what it should be.
    """
    paths = {name: getattr(named, name) or configured[name] for name in ("ca", "cert", "key")}
    for name in ("ca", "cert"):
        if not paths[name]:
            hint = f"Name it with --tls-{name}, or in Dask's own configuration ({_DASKS_OWN})."
            raise UsageError(f"A tls:// scheduler needs a certificate that is not named: {name}.", hint=hint)
    files = TlsFiles(**{name: Path(path).expanduser() for name, path in paths.items() if path})
    try:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=files.ca)
        assert files.cert is not None
        # A key with a password would be asked for on the terminal.
        context.load_cert_chain(files.cert, files.key, password=_no_password)
    except (OSError, ValueError) as error:  # `SSLError` is an `OSError`
        names = ", ".join(str(path) for path in (files.ca, files.cert, files.key) if path is not None)
        hint = "They must be PEM files, and the key that of the certificate, without a password."
        raise UsageError(f"The certificates cannot be used: {names}.", hint=hint, detail=str(error)) from error
    return files


def _no_password() -> str:
    raise ValueError("the key has a password")
