"""The options of `desktop-agent serve`."""

import argparse
from pathlib import Path

from desktop_agent.cli.arguments import Commands, command


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    summary = "Serve sessions over HTTP to programs and browsers, until Ctrl+C."
    serve = command(commands, "serve", summary, "serve --port 8400")
    serve.add_argument("--host", default="127.0.0.1", metavar="H", help="the address to listen at (127.0.0.1)")
    serve.add_argument("--port", type=_port, default=0, metavar="N", help="the port; 0, the default, is any free one")
    tls_help = "encrypt with this certificate and its key, two PEM files; needed for any address but this machine's own"
    serve.add_argument("--tls", type=Path, nargs=2, metavar=("CERT", "KEY"), help=tls_help)


def _port(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and int(text) < 65_536):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a whole number up to 65535")
    return int(text)
