"""Whom TLS trusts: the system's certificates, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name."""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

from desktop_agent.core.base.errors import ProviderError


def tls_context(environ: Mapping[str, str] = os.environ) -> ssl.SSLContext:
    """Return the context for connections to models. Blocks for some milliseconds.

    Raises `ProviderError` that names the variable when it names nothing that can be used.
    """
    import httpx2

    for variable, exists in (("SSL_CERT_FILE", Path.is_file), ("SSL_CERT_DIR", Path.is_dir)):
        named = environ.get(variable)
        if named and not exists(Path(named)):
            raise _unusable(variable, named, "does not exist" if not Path(named).exists() else "is of another kind")
    try:
        return httpx2.create_ssl_context()
    except (OSError, ssl.SSLError) as error:
        variable = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if environ.get(name)), "")
        if not variable:
            raise
        raise _unusable(variable, environ[variable], f"cannot be read: {error}") from None


def _unusable(variable: str, named: str, why: str) -> ProviderError:
    kind = "file with certificates" if variable == "SSL_CERT_FILE" else "folder with certificates"
    return ProviderError(
        f"{variable} names {named}, which {why}.",
        fault="configuration",
        hint=f"Set {variable} to a {kind}, or unset it to use the certificates of the system.",
    )
