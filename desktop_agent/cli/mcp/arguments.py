"""The options of `desktop-agent mcp`."""

import argparse
from pathlib import Path

from desktop_agent.cli.arguments import Commands, command
from desktop_agent.cli.mcp.options import add_client_options


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    mcp = commands.add_parser("mcp", help="Define, test and switch MCP servers, which offer tools to the model.")
    actions = mcp.add_subparsers(dest="action", required=True, metavar="ACTION")
    command(actions, "list", "List the servers that are defined for this folder. Starts none.", "mcp list")
    summary = "Define a server: what starts it stands behind --, or --url says where it is reached."
    add = command(actions, "add", summary, "mcp add git --env DEBUG=1 -- uvx mcp-server-git")
    add.usage = "desktop-agent mcp add NAME [--env K=V] [--cwd DIR] [--sandbox [--folder DIR] [--host HOST]] "
    add.usage += "-- COMMAND ARGS…\n       "
    add.usage += "desktop-agent mcp add NAME --url URL [--header K=V] [--client-id ID [--client-secret]]"
    add.usage += "\n       desktop-agent mcp add NAME --from KNOWN [--no-sandbox]"
    add.add_argument("name", metavar="NAME")
    add.add_argument("--url", metavar="URL", help="reach it by streamable HTTP")
    add.add_argument("--from", dest="known", metavar="KNOWN", help="one of `mcp catalogue`, as its makers publish it")
    header_help = "a header for every request, with --url; one that is a secret goes to the system keyring"
    add.add_argument("--header", action="append", default=[], metavar="K=V", help=header_help)
    add_client_options(add)
    add.add_argument("--env", action="append", default=[], metavar="K=V", help="a variable for the program")
    add.add_argument("--cwd", type=Path, metavar="DIR", help="the folder it starts in (default: that of the session)")
    sandbox_help = "run it in the sandbox or not at all; --from does so for most"
    add.add_argument("--sandbox", action=argparse.BooleanOptionalAction, default=None, help=sandbox_help)
    for option, dest, metavar, summary in (
        ("--folder", "folders", "DIR", "a folder that it may write in the sandbox; . is the one that is open"),
        ("--read-folder", "read_folders", "DIR", "a folder of your home that it may read in the sandbox"),
        ("--host", "hosts", "HOST", "a host that it may reach from the sandbox, such as example.org or *.example.org"),
    ):
        add.add_argument(option, dest=dest, action="append", default=[], metavar=metavar, help=summary)
    command(actions, "catalogue", "List servers worth knowing, and what each needs. Starts none.", "mcp catalogue")
    take = command(actions, "import", "Define the servers of another tool's JSON file.", "mcp import .mcp.json")
    take.add_argument("file", type=Path, metavar="FILE")
    test = command(actions, "test", "Start a server, list its tools with what they cost, and end it.", "mcp test git")
    test.add_argument("name", metavar="NAME")
    accept_help = "take its tools as they are now for what you allowed, so that your rules answer for them"
    test.add_argument("--accept", action="store_true", help=accept_help)
    for name, summary in (
        ("sign-in", "Sign in with a server at an address, by the browser."),
        ("sign-out", "Forget the sign-in with a server."),
    ):
        command(actions, name, summary, f"mcp {name} tickets").add_argument("name", metavar="NAME")
    remove = command(actions, "remove", "Take a server out of the settings.", "mcp remove git")
    remove.add_argument("name", metavar="NAME")
    logs = command(actions, "logs", "Show what a server wrote to its standard error.", "mcp logs git")
    logs.add_argument("name", metavar="NAME")
    for name, summary in (("enable", "Use a server, or one of its tools."), ("disable", "Use it no longer.")):
        action = command(actions, name, summary, f"mcp {name} git/git_push")
        action.add_argument("name", metavar="NAME[/TOOL]")
