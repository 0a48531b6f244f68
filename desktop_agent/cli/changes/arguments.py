"""The options of `desktop-agent changes`."""

import argparse

from desktop_agent.cli.arguments import Commands, add_accept_folder, at_least_one, session_command


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    changes = commands.add_parser("changes", help="List, show, undo and redo what a session changed.")
    actions = changes.add_subparsers(dest="action", required=True, metavar="ACTION")
    summaries = {
        "list": "List the changes of a session.",
        "diff": "Print the changes of a session as a patch.",
        "undo": "Take changes back. A file that was edited since is left alone and reported.",
        "redo": "Take back the last undo exactly, or apply the undone changes again that the options select.",
    }
    for name, summary in summaries.items():
        action = session_command(actions, name, summary, f"changes {name} k3f9qx --turn 2")
        turns = action.add_mutually_exclusive_group()
        turns.add_argument("--turn", type=at_least_one, metavar="N", help="only this turn")
        turns.add_argument("--since", type=at_least_one, metavar="N", help="this turn and all that follow")
        action.add_argument("--call", metavar="ID", help="only this tool call")
        action.add_argument("--file", metavar="P", help="only this file, by its path in the workspace")
        if name == "list":
            action.add_argument("--hunks", action="store_true", help="list the hunks of each file, too")
        if name in ("undo", "redo"):
            _add_revert(action, name)


def _add_revert(action: argparse.ArgumentParser, name: str) -> None:
    hunk_help = "only this hunk of --file, by its number or key (`changes list ID --hunks`); may be repeated"
    action.add_argument("--hunk", action="append", default=[], metavar="K", help=hunk_help)
    action.add_argument("--dry-run", action="store_true", help="only say what would happen")
    add_accept_folder(action)
    action.add_argument("--reason", default="", metavar="TEXT", help="a note to the model, sent with the next prompt")
    if name == "redo":
        which = action.add_mutually_exclusive_group()
        which.add_argument("--all", action="store_true", help="take back all undos")
        step_help = "take back this undo, by its number (`--steps`); may be repeated"
        which.add_argument("--step", action="append", default=[], type=at_least_one, metavar="N", help=step_help)
        which.add_argument("--steps", action="store_true", help="only list the undos that can be taken back")
    if name == "undo":
        others_help = "also take back what is not the agent's: your own changes, and what may be yours or a server's"
        action.add_argument("--include-others", action="store_true", help=others_help)
        recover_help = "also put back branches, tags and stash entries that the calls moved or dropped"
        action.add_argument("--recover", action="store_true", help=recover_help)
