"""The options of `desktop-agent mcp add` for a server where this application is registered by hand."""

import argparse

GRANTS = ("authorization_code", "client_credentials")


def add_client_options(add: argparse.ArgumentParser) -> None:
    """Add what the application is where the server's tokens come from."""
    what = "what this application is registered as where the server's tokens come from, or a URL that describes it"
    add.add_argument("--client-id", metavar="ID", help=what)
    secret = "ask for its secret or private key, or read it from a pipe; it goes to the system keyring"  # noqa: S105
    add.add_argument("--client-secret", action="store_true", help=secret)
    add.add_argument("--issuer", metavar="URL", help="the one authorisation server that may be used")
    grant = "client_credentials: the application signs in by itself, without you (default: authorization_code)"
    add.add_argument("--grant", choices=GRANTS, metavar="G", help=grant)
    port = "the port that the browser comes back to, if it is registered with one (default: any)"
    add.add_argument("--callback-port", type=int, metavar="N", help=port)
