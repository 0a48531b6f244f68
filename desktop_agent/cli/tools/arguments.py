"""The options of `desktop-agent tools`."""

from desktop_agent.cli.arguments import Commands, add_mode, command


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    tools = commands.add_parser("tools", help="List, describe and call the model's tools.")
    actions = tools.add_subparsers(dest="action", required=True, metavar="ACTION")
    command(actions, "list", "List all tools.", "tools list")
    describe = command(actions, "describe", "Describe one tool.", "tools describe edit_file")
    describe.add_argument("name", metavar="NAME")
    call = command(
        actions, "call", "Run one tool call, as the model would.", """tools call grep '{"pattern": "TODO"}'"""
    )
    call.add_argument("name", metavar="NAME")
    call.add_argument("arguments", metavar="ARGS_JSON", help="the arguments, one JSON object; - reads standard input")
    add_mode(call)
