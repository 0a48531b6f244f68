"""The options of `desktop-agent auth`."""

from typing import get_args

from desktop_agent.cli.arguments import Commands, command
from desktop_agent.core.base.web_address import address_argument
from desktop_agent.core.models.vendors import VENDORS, KeyHeader

_VENDOR_IDS = tuple(vendor.id for vendor in VENDORS)
_HEADERS = " (the default) or ".join(get_args(KeyHeader))


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    auth = commands.add_parser("auth", help="Keep accounts with providers, and their keys in the system keyring.")
    actions = auth.add_subparsers(dest="action", required=True, metavar="ACTION")
    command(actions, "status", "Say of each account where its key comes from, and where it goes.", "auth status")
    keep = command(actions, "set", "Store a key.", "auth set anthropic --account work")
    address = "the address that this key is for: it is sent nowhere else (default: the provider's own)"
    keep.add_argument("--base-url", type=address_argument, metavar="URL", help=address)
    keep.add_argument("--header", choices=get_args(KeyHeader), metavar="H", help=f"how it travels: {_HEADERS}")
    remove = command(actions, "delete", "Remove a key, and the account if it has a name.", "auth delete anthropic")
    which = "which of the provider's accounts (default: the usual one)"
    for action in (keep, remove):
        action.add_argument("provider", metavar="PROVIDER", help=f"one of {', '.join(_VENDOR_IDS)}")
        action.add_argument("--account", metavar="NAME", help=which)
    for name, summary in (
        ("sign-in", "Sign in by the browser: openai (ChatGPT), openrouter; or use a profile of Anthropic's tools."),
        ("sign-out", "Forget a sign-in."),
    ):
        action = command(actions, name, summary, f"auth {name} openai")
        action.add_argument("provider", metavar="PROVIDER")
        action.add_argument("--account", metavar="NAME", help="the account, when there are several of the provider")
