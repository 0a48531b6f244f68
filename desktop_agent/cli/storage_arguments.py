"""The options of `desktop-agent storage`."""

from desktop_agent.cli.arguments import Commands, command


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    summary = "Show what the sessions take of the disk, and remove contents that none of them needs."
    storage = command(commands, "storage", summary, "storage collect --dry-run")
    action = "show (the default): count; collect: remove what no session needs and was not stored in the last 24 hours"
    storage.add_argument("action", nargs="?", choices=("show", "collect"), default="show", help=action)
    storage.add_argument("--dry-run", action="store_true", help="with collect: only say what would be removed")
