"""`desktop-agent auth`: the keys of providers, kept in the operating system's keyring."""

import argparse
import getpass
import sys
from collections.abc import Mapping

from desktop_agent.cli.console import Console
from desktop_agent.core.base.errors import CredentialsError, UsageError
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.auth.keys import SystemKeyStore, resolve_key
from desktop_agent.core.providers.catalog import KEYED_PROVIDERS


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands."""
    store = SystemKeyStore(tell=console.say)
    match args.action:
        case "status":
            return _status(store, args.environ, console)
        case "set":
            _require_known(args.provider)
            store.set(args.provider, _read_key())
            text = f"The key for {args.provider} is in the system keyring."
            console.result({"provider": args.provider, "source": "keyring"}, text)
        case "delete":
            _require_known(args.provider)
            store.delete(args.provider)
            text = f"The key for {args.provider} is no longer in the system keyring."
            console.result({"provider": args.provider, "source": None}, text)
        case _:
            raise AssertionError(args.action)
    return 0


def _status(store: SystemKeyStore, environ: Mapping[str, str], console: Console) -> int:
    """Say for each provider where its key comes from; never the key."""
    documents: list[JsonObject] = []
    lines: list[str] = []
    for provider in KEYED_PROVIDERS:
        variable = vendor_of(provider).key_variable
        try:
            key = resolve_key(usual_account(provider), environ, store)
            source, problem = key.source, ""
        except CredentialsError as error:
            source, problem = None, str(error)
        words = {
            "environment": f"from {variable}",
            "keyring": "in the system keyring",
            "run": "of this run",
            None: problem or "no key",
        }
        documents.append({"provider": provider, "source": source, "problem": problem})
        lines.append(f"{provider:<12}{words[source]}")
    console.result({"providers": documents}, "\n".join(lines))
    return 0


def _read_key() -> str:
    """Ask for the key without showing it; from a pipe, read its first line."""
    key = getpass.getpass("Key: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not key.strip():
        raise UsageError("No key was given.", hint="Type it at the prompt, or pipe it in; it is never an argument.")
    return key.strip()


def _require_known(provider: str) -> None:
    if provider not in KEYED_PROVIDERS:
        raise UsageError(f"There is no provider {provider!r}.", hint=f"Known: {', '.join(KEYED_PROVIDERS)}.")
