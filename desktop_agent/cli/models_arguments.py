"""The options of `desktop-agent models`."""

from desktop_agent.cli.arguments import Commands, command
from desktop_agent.core.models.vendors import VENDORS

_VENDOR_IDS = tuple(vendor.id for vendor in VENDORS)


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    models = commands.add_parser("models", help="List the models of an account, with what is known of each.")
    actions = models.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = command(
        actions, "list", "List them, without asking the network unless told to.", "models list --provider openrouter"
    )
    listing.add_argument("--provider", metavar="P", help=f"one of {', '.join(_VENDOR_IDS)} (default: the settings')")
    listing.add_argument("--account", metavar="NAME", help="which of the provider's accounts (default: the settings')")
    listing.add_argument("--refresh", action="store_true", help="ask the account's address for its list first")
