"""The options of `desktop-agent sessions`."""

from pathlib import Path

from desktop_agent.cli.arguments import Commands, at_least_one, command, end_of, moment, session_command

EXPORT_FORMS = ("md", "html", "jsonl", "patch")
HIT_KINDS = ("title", "prompt", "reply", "command", "output", "change")


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    sessions = commands.add_parser("sessions", help="List, show, file, verify, export and import sessions.")
    actions = sessions.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = command(actions, "list", "List sessions: the pinned ones, then the last used first.", "sessions list")
    which = listing.add_mutually_exclusive_group()
    which.add_argument("--archived", action="store_true", help="only those that were put away")
    which.add_argument("--all", action="store_true", help="those that were put away and calls by hand, too")
    search = command(actions, "search", "Search through all sessions.", 'sessions search "page count" --kind prompt')
    search.add_argument("text", metavar="TEXT", help='words in any order; "quoted ones" side by side')
    search.add_argument("--since", type=moment, metavar="D", help="not older: 2026-11-21, 2026-11-21T09:30, or 7d")
    search.add_argument("--until", type=end_of, metavar="D", help="not newer; a day counts to its end")
    search.add_argument("--file", default="", metavar="F", help="only what is about a file with this in its path")
    search.add_argument("--tool", default="", metavar="T", help="only calls of this tool")
    search.add_argument("--kind", choices=HIT_KINDS, metavar="K", help=f"only one of {', '.join(HIT_KINDS)}")
    search.add_argument("--limit", type=at_least_one, default=50, metavar="N", help="at most N places (50)")
    session_command(actions, "show", "Show one session.", "sessions show 20261121-213700-k3f9qx")
    verify_summary = "Say what is wrong with stored sessions; with --repair, mend what can be mended."
    verify = command(actions, "verify", verify_summary, "sessions verify k3f9qx --repair")
    verify.add_argument("id", nargs="?", metavar="ID", help="a session id, or its beginning or end; all without one")
    verify.add_argument("--repair", action="store_true", help="mend them; a changed journal is kept as it was, too")
    summary = "Copy a session into a new one, which goes on by itself."
    fork = session_command(actions, "fork", summary, "sessions fork k3f9qx --before-turn 3")
    fork.add_argument("--before-turn", type=at_least_one, metavar="N", help="leave this turn out, and what follows it")
    _add_filing(actions)
    _add_exchange(actions)


def _add_filing(actions: Commands) -> None:
    example = 'sessions rename k3f9qx "The slow query"'
    rename = session_command(actions, "rename", "Give a session another title.", example)
    rename.add_argument("title", metavar="TITLE")
    summaries = {"archive": "Put a session away; nothing of it is removed.", "pin": "Keep a session at the top."}
    for name, summary in summaries.items():
        action = session_command(actions, name, summary, f"sessions {name} k3f9qx")
        action.add_argument("--undo", action="store_true", help="take that back")
    summary = "Delete a session with its undo history. Files of the workspace stay as they are."
    delete = session_command(actions, "delete", summary, "sessions delete k3f9qx --yes")
    delete.add_argument("--yes", action="store_true", help="do not ask")


def _add_exchange(actions: Commands) -> None:
    example = "sessions export k3f9qx --format md"
    export = session_command(actions, "export", "Write a session to read it elsewhere.", example)
    forms = "md, html (one file), jsonl (can be imported), or patch (what it changed)"
    export.add_argument("--format", choices=EXPORT_FORMS, default="md", metavar="FORM", help=forms)
    export.add_argument("--output", type=Path, metavar="F", help="the file to write (default: standard output)")
    export.add_argument("--force", action="store_true", help="overwrite the file if there is one")
    summary = "Import a conversation of Claude Code or Codex, or one that was exported as jsonl."
    example = "sessions import ~/.claude/projects/-home-me-app/0f3a….jsonl"
    importing = command(actions, "import", summary, example)
    importing.add_argument("file", type=Path, metavar="FILE", help="the .jsonl file")
    importing.add_argument("--again", action="store_true", help="also when it was imported already")
