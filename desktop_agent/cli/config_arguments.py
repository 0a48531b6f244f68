"""The options of `desktop-agent config`."""

from pathlib import Path

from desktop_agent.cli.arguments import Commands, command


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    config = commands.add_parser("config", help="Show and change the settings.")
    actions = config.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = command(actions, "show", "Show all settings, and where each value comes from.", "config show execution")
    show.add_argument("section", nargs="?", metavar="SECTION", help="only this section, such as tools.limits")
    command(actions, "path", "Show where the settings file is.", "config path")
    get = command(actions, "get", "Show one setting.", "config get model.name")
    get.add_argument("key", metavar="KEY")
    reset = command(
        actions, "reset", "Take one setting out of the file, so that its default holds.", "config reset ui.theme"
    )
    reset.add_argument("key", metavar="KEY")
    trust = command(
        actions, "trust", "Let a project's own settings hold, and its MCP servers start.", "config trust ~/code/app"
    )
    trust.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="the project (default: --workspace)")
    trust.add_argument("--ignore", action="store_true", help="ignore them instead, until they change")
    trust.add_argument("--dry-run", action="store_true", help="only show what they would change")
    change = command(actions, "set", "Change one setting.", "config set execution.approval always")
    change.add_argument("key", metavar="KEY")
    change.add_argument("value", metavar="VALUE", help="as in the settings file; text needs no quotes")
