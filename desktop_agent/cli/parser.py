"""The parser of the command line: every command with its options. Imports no command."""

import argparse
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from math import inf
from typing import TypeVar, get_args

from desktop_agent.core.base.file_names import real_path_named
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.web_address import address_argument
from desktop_agent.core.models.vendors import PROVIDER_IDS, VENDORS, CloudField, KeyHeader

APPROVALS = ("always", "on_write", "on_request", "never")
SANDBOXES = ("restricted", "strict", "none")

Commands = Callable[..., argparse.ArgumentParser]


def command(commands: Commands, name: str, summary: str, example: str, *positionals: str) -> argparse.ArgumentParser:
    """Add a command with common options; `positionals` are named as in its usage: NAME, NAME[/TOOL]."""
    parser = commands(name, help=summary, description=summary, epilog=f"Example: desktop-agent {example}")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    folder = "the folder to work in (default: the current one)"
    parser.add_argument("--workspace", type=real_path_named, metavar="DIR", help=folder)
    for shown in positionals:
        parser.add_argument(shown.partition("[")[0].lower(), metavar=shown)
    return parser


def group(commands: Commands, name: str, summary: str) -> Commands:
    """Add a command that has actions, and return the function that adds an action."""
    actions = commands(name, help=summary).add_subparsers(dest="action", required=True, metavar="ACTION")
    return actions.add_parser


def session_command(commands: Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    parser = command(commands, name, summary, example)
    parser.add_argument("id", metavar="ID", help="a session id, or its beginning or end")
    return parser


def add_switch(parser: argparse.ArgumentParser, name: str, summary: str) -> None:
    """Add an option that can be switched on and off. If it is missing, the settings decide."""
    parser.add_argument(name, action=argparse.BooleanOptionalAction, default=None, help=summary)


def add_mode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--approval", choices=APPROVALS, metavar="P", help=f"approval policy: {', '.join(APPROVALS)}")
    parser.add_argument("--sandbox", choices=SANDBOXES, metavar="S", help=f"for commands: {', '.join(SANDBOXES)}")


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--provider", metavar="P", help=f"the model's provider: {', '.join(PROVIDER_IDS)}")
    parser.add_argument("--model", metavar="M", help="the model")
    parser.add_argument("--base-url", type=address_argument, metavar="URL", help="another address of the provider")
    parser.add_argument("--account", metavar="NAME", help="the provider's account; `auth status` lists them")
    parser.add_argument("--effort", metavar="LEVEL", help="how much the model thinks; `models list` shows its levels")


def add_accept_folder(parser: argparse.ArgumentParser) -> None:
    summary = "continue in the folder that is there now, although it is not the one that the session worked in"
    parser.add_argument("--accept-folder", action="store_true", help=summary)


def names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


N = TypeVar("N", int, float)


def _number(read: Callable[[str], N], is_wanted: Callable[[N], bool], what: str) -> Callable[[str], N]:
    def parse(text: str) -> N:
        with suppress(ValueError):
            if is_wanted(number := read(text)):
                return number
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")

    return parse


at_least_one = _number(int, lambda number: number >= 1, "a whole number, 1 or more")
not_below_zero = _number(int, lambda number: number >= 0, "a whole number, 0 or more")
above_zero = _number(float, lambda number: 0 < number < inf, "a number greater than 0")


def moment(text: str) -> datetime:
    """Parse a local time: `2026-11-21`, `2026-11-21T09:30` or `7d` (days ago)."""
    if (days := text.removesuffix("d")).isdigit() and days != text and len(days) < 6:
        return datetime.now().astimezone() - timedelta(days=int(days))
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no date such as 2026-11-21, nor a number of days: 7d") from error


def end_of(text: str) -> datetime:
    """Return the end of the day that `text` names, or the moment that it names."""
    meant = moment(text)
    return meant + timedelta(days=1) if len(text) == len("2026-11-21") and "d" not in text else meant


ROLES = ("orchestrator", "researcher", "worker")


def _add_run(commands: Commands) -> None:
    run = command(commands, "run", "Run prompts without a window.", 'run --prompt "Fix the failing test"')
    prompt = run.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", action="append", metavar="TEXT", help="the prompt; several are a turn each")
    prompt.add_argument("--prompt-file", type=real_path_named, metavar="F", help="read the prompt from a file")
    prompt.add_argument("stdin", nargs="?", choices=["-"], help="read the prompt from standard input")
    plan_help = "carry out a plan that you accept: a markdown file, such as the `plan` of an earlier run"
    prompt.add_argument("--carry-out-plan", type=real_path_named, metavar="F", help=plan_help)
    run.add_argument("--plan", action="store_true", help="change nothing: read, ask, and write a plan")
    include_help = "files that come with the first prompt: texts and pictures, also from outside of the folder"
    run.add_argument(
        "--include", nargs="+", action="extend", default=[], type=real_path_named, metavar="F", help=include_help
    )
    session = run.add_mutually_exclusive_group()
    session.add_argument("--resume", metavar="ID", help="continue this session")
    session.add_argument("--continue", dest="continue_last", action="store_true", help="continue the last one here")
    tree_help = "work in a new git worktree, on a branch of its own (the name is optional)"
    session.add_argument("--worktree", nargs="?", const="", metavar="NAME", help=tree_help)
    base_help = "the commit or branch from which --worktree starts (HEAD)"
    run.add_argument("--worktree-base", metavar="COMMIT", help=base_help)
    add_accept_folder(run)
    add_model(run)
    agent_help = "an agent of another program instead of a model: its name (`agents list`), or its command line"
    run.add_argument("--agent", metavar="NAME|COMMAND", help=agent_help)
    client_help = "who sends requests to Anthropic: direct (this program, quicker) or sdk (Anthropic's SDK)"
    run.add_argument("--client", choices=("direct", "sdk"), metavar="C", help=client_help)
    run.add_argument("--role", choices=ROLES, metavar="R", help=f"its tools and prompt: {', '.join(ROLES)} (worker)")
    add_mode(run)
    asked = "a program that answers approval requests: JSON in, JSON out"
    run.add_argument("--approval-command", metavar="CMD", help=asked)
    run.add_argument("--max-turns", type=at_least_one, metavar="N", help="at most N requests to the model (8)")
    run.add_argument("--max-cost", type=above_zero, metavar="X", help="stop when the run has cost X dollars")
    run.add_argument("--max-time", type=above_zero, metavar="S", help="stop after S seconds")
    add_switch(run, "--exit-on-tool-error", "stop after the first failed call")
    add_switch(run, "--dry-run", "answer every tool call without running it")
    run.add_argument("--allowed-tools", type=names, metavar="A,B", help="only these tools")
    run.add_argument("--blocked-tools", type=names, metavar="A,B", help="not these tools")
    run.add_argument("--audit-log", type=real_path_named, metavar="F", help="append every tool call as a JSON line")
    run.add_argument("--changes-log", type=real_path_named, metavar="F", help="append every change as a JSON line")
    add_switch(run, "--debug-tool-use", "show tool calls")
    run.add_argument(
        "--tool-debug-log", type=real_path_named, metavar="F", help="with --debug-tool-use: append them here too"
    )
    run.add_argument("--undo-last-turn", action="store_true", help="undo the run's changes at the end")
    schema_help = "a JSON Schema that the final answer must match; else the exit code is 1"
    run.add_argument("--output-schema", type=real_path_named, metavar="F", help=schema_help)
    run.add_argument("--config", type=real_path_named, metavar="F", help="another settings file")
    run.add_argument("--stream", action="store_true", help="print every event as a JSON line while running")
    stream_help = "stream: read ops as JSON lines from standard input while running, in place of prompts"
    run.add_argument("--input-format", choices=("text", "stream"), default="text", metavar="F", help=stream_help)
    run.add_argument("--verbose", action="store_true", help="tell what happens on standard error")


def _add_batch(commands: Commands) -> None:
    summary = "Run many prompts, each in a copy of its folder, each with one line of result."
    batch = command(commands, "batch", summary, "batch tasks.jsonl --workers 4 --output results.jsonl")
    task_help = "the tasks, a JSON object a line: id, workspace, prompt, options (those of `run`)"
    batch.add_argument("tasks", type=real_path_named, metavar="TASKS", help=task_help)
    where = "append the results here, and leave out tasks that have one (default: standard output)"
    batch.add_argument("--output", type=real_path_named, metavar="F", help=where)
    count_help = "how many tasks at once (one for each processor, here or of the cluster)"
    batch.add_argument("--workers", type=at_least_one, metavar="N", help=count_help)
    batch.add_argument("--resume", action="store_true", help="continue with the results of --output, which must exist")
    retry_help = "try a task again, N times, when its worker died or its provider failed (1)"
    batch.add_argument("--retries", type=not_below_zero, default=1, metavar="N", help=retry_help)
    batch.add_argument("--max-cost", type=above_zero, metavar="X", help="start no more when all have cost X dollars")
    together = "run all tasks side by side as variants of one, each in a worktree that stays"
    batch.add_argument("--variants", action="store_true", help=together)
    batch.add_argument("--scheduler", metavar="URL", help="run them on a Dask cluster: tls://host:8786")
    for name, what in (("ca", "the cluster's CA certificate"), ("cert", "our certificate"), ("key", "its private key")):
        help_text = f"a PEM file: {what} (default: as Dask is configured)"
        batch.add_argument(f"--tls-{name}", type=real_path_named, metavar="F", help=help_text)


EXPORT_FORMS = ("md", "html", "jsonl", "patch")
HIT_KINDS = ("title", "prompt", "reply", "command", "output", "change")


def _add_sessions(commands: Commands) -> None:
    actions = group(commands, "sessions", "List, show, file, verify, export and import sessions.")
    listing = command(actions, "list", "List sessions: the pinned ones, then the last used first.", "sessions list")
    which = listing.add_mutually_exclusive_group()
    which.add_argument("--archived", action="store_true", help="only archived sessions")
    which.add_argument("--all", action="store_true", help="also archived sessions, manual calls and sub-agents")
    search = command(actions, "search", "Search through all sessions.", 'sessions search "page count" --kind prompt')
    search.add_argument("text", metavar="TEXT", help='words in any order; "quoted words" next to each other')
    search.add_argument("--since", type=moment, metavar="D", help="not older: 2026-11-21, 2026-11-21T09:30, or 7d")
    search.add_argument("--until", type=end_of, metavar="D", help="not newer; a day counts to its end")
    search.add_argument("--file", default="", metavar="F", help="only what is about a file with this in its path")
    search.add_argument("--tool", default="", metavar="T", help="only calls of this tool")
    search.add_argument("--kind", choices=HIT_KINDS, metavar="K", help=f"only one of {', '.join(HIT_KINDS)}")
    search.add_argument("--limit", type=at_least_one, default=50, metavar="N", help="at most N places (50)")
    session_command(actions, "show", "Show one session.", "sessions show 20261121-213700-k3f9qx")
    verify_summary = "Say what is wrong with stored sessions; with --repair, repair what can be repaired."
    verify = command(actions, "verify", verify_summary, "sessions verify k3f9qx --repair")
    verify.add_argument("id", nargs="?", metavar="ID", help="a session id, or its beginning or end; all without one")
    verify.add_argument("--repair", action="store_true", help="repair them; the original of a changed journal is kept")
    summary = "Copy a session into a new, independent one."
    fork = session_command(actions, "fork", summary, "sessions fork k3f9qx --before-turn 3")
    fork.add_argument("--before-turn", type=at_least_one, metavar="N", help="leave this turn out, and what follows it")
    _add_filing(actions)
    _add_exchange(actions)


def _add_filing(actions: Commands) -> None:
    example = 'sessions rename k3f9qx "The slow query"'
    session_command(actions, "rename", "Give a session another title.", example).add_argument("title", metavar="TITLE")
    summaries = {"archive": "Archive a session; nothing of it is removed.", "pin": "Keep a session at the top."}
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
    export.add_argument(
        "--output", type=real_path_named, metavar="F", help="the file to write (default: standard output)"
    )
    export.add_argument("--force", action="store_true", help="overwrite the file if there is one")
    summary = "Import a conversation of Claude Code or Codex, or one that was exported as jsonl."
    example = "sessions import ~/.claude/projects/-home-me-app/0f3a….jsonl"
    importing = command(actions, "import", summary, example)
    importing.add_argument("file", type=real_path_named, metavar="FILE", help="the .jsonl file")
    importing.add_argument("--again", action="store_true", help="also when it was imported already")


def _add_changes(commands: Commands) -> None:
    actions = group(commands, "changes", "List, show, undo, redo and commit what a session changed.")
    summaries = {
        "list": "List the changes of a session.",
        "diff": "Print the changes of a session as a patch.",
        "undo": "Undo changes. A file that was edited since is left alone and reported.",
        "redo": "Redo the last undo exactly, or redo the undone changes that the options select.",
        "commit": "Commit exactly the agent's standing lines with git, and none of your own edits.",
    }
    for name, summary in summaries.items():
        more = ' --message "Fix the parser"' if name == "commit" else ""
        action = session_command(actions, name, summary, f"changes {name} k3f9qx --turn 2{more}")
        turns = action.add_mutually_exclusive_group()
        turns.add_argument("--turn", type=at_least_one, metavar="N", help="only this turn")
        turns.add_argument("--since", type=at_least_one, metavar="N", help="this turn and all that follow")
        action.add_argument("--call", metavar="ID", help="only this tool call")
        action.add_argument("--file", metavar="P", help="only this file, by its path in the workspace")
        if name == "list":
            action.add_argument("--hunks", action="store_true", help="list the hunks of each file, too")
        if name in ("undo", "redo", "commit"):
            _add_revert(action, name)


def _add_revert(action: argparse.ArgumentParser, name: str) -> None:
    hunk_help = "only this hunk of --file, by its number or key (`changes list ID --hunks`); may be repeated"
    action.add_argument("--hunk", action="append", default=[], metavar="K", help=hunk_help)
    action.add_argument("--dry-run", action="store_true", help="only say what would happen")
    add_accept_folder(action)
    if name == "commit":
        action.add_argument("--message", metavar="TEXT", help="the message of the commit")
        action.add_argument("--undo", action="store_true", help="undo the session's last commit, unless it was pushed")
        return
    action.add_argument("--reason", default="", metavar="TEXT", help="a note to the model, sent with the next prompt")
    if name == "redo":
        which = action.add_mutually_exclusive_group()
        which.add_argument("--all", action="store_true", help="redo all undos")
        step_help = "redo this undo, by its number (`--steps`); may be repeated"
        which.add_argument("--step", action="append", default=[], type=at_least_one, metavar="N", help=step_help)
        which.add_argument("--steps", action="store_true", help="only list the undos that can be redone")
    if name == "undo":
        others_help = "also undo what is not the agent's: your own changes, and what may be yours or a server's"
        action.add_argument("--include-others", action="store_true", help=others_help)
        recover_help = "also put back branches, tags and stash entries that the calls moved or dropped"
        action.add_argument("--recover", action="store_true", help=recover_help)


def _add_worktrees(commands: Commands) -> None:
    actions = group(
        commands,
        "worktrees",
        "List the git worktrees of sessions, bring changes back, take from several, remove and restore.",
    )
    command(actions, "list", "List them, with how much of each is not merged.", "worktrees list")
    summary = "Merge what a worktree has into the folder of its repository, as changes that can be undone."
    bring = command(actions, "bring-back", summary, "worktrees bring-back calm-otter --dry-run", "NAME")
    bring.set_defaults(turn=None, since=None, call=None)
    bring.add_argument("--file", metavar="P", help="only this file, by its path in the repository")
    hunk_help = "only this hunk of --file, by its number or key (--dry-run lists them); may be repeated"
    bring.add_argument("--hunk", action="append", default=[], metavar="K", help=hunk_help)
    bring.add_argument("--dry-run", action="store_true", help="only say what would happen")
    summary = "Take changes from several worktrees into the folder, as one change. Nothing is taken if two clash."
    take = command(actions, "take", summary, "worktrees take try-3f9c2a-1:src/app.py:1,3 try-3f9c2a-2")
    part_help = "NAME for all that a worktree has, NAME:FILE, or NAME:FILE:K,K for hunks by number or key"
    take.add_argument("parts", nargs="+", metavar="PART", help=part_help)
    take.add_argument("--dry-run", action="store_true", help="list the hunks, and what would be taken")
    summaries = {
        "remove": "Move a worktree to the trash, where it stays for a month. Its branch stays in the repository.",
        "restore": "Bring a worktree back from the trash, or what git knows of one that was removed by hand.",
    }
    for name, text in summaries.items():
        command(actions, name, text, f"worktrees {name} calm-otter", "NAME")


def _add_costs(commands: Commands) -> None:
    summary = "Show what the sessions cost, by day and model: of all folders, or of that of --workspace."
    costs = command(commands, "costs", summary, "costs --days 7")
    costs.add_argument("--days", type=at_least_one, default=30, metavar="N", help="the last N days, today too (30)")
    by_help = "time, tokens, cost and errors by one of these, instead of costs by day and model"
    costs.add_argument("--by", choices=("day", "model", "tool", "folder"), help=by_help)


def _add_storage(commands: Commands) -> None:
    summary = "Show what the sessions take of the disk, and remove contents that none of them needs."
    storage = command(commands, "storage", summary, "storage collect --dry-run")
    action = "show (the default): count; collect: remove what no session needs and was not stored in the last 24 hours"
    storage.add_argument("action", nargs="?", choices=("show", "collect"), default="show", help=action)
    storage.add_argument("--dry-run", action="store_true", help="with collect: only say what would be removed")


def _add_tools(commands: Commands) -> None:
    actions = group(commands, "tools", "List, describe and call the model's tools.")
    command(actions, "list", "List all tools.", "tools list")
    command(actions, "describe", "Describe one tool.", "tools describe edit_file", "NAME")
    example = """tools call grep '{"pattern": "TODO"}'"""
    call = command(actions, "call", "Run one tool call, as the model would.", example, "NAME")
    call.add_argument("arguments", metavar="ARGS_JSON", help="the arguments, one JSON object; - reads standard input")
    add_mode(call)


_VENDOR_IDS = tuple(vendor.id for vendor in VENDORS)
_HEADERS = " (the default) or ".join(get_args(KeyHeader))

_CLOUD_OPTIONS: Mapping[CloudField, tuple[str, str]] = {
    "region": ("R", "for a cloud: the region (default: as its own tools are set up)"),
    "project": ("P", "for vertex: the project"),
    "resource": ("R", "for foundry: the resource"),
    "workspace_id": ("W", "for aws: the workspace"),
    "profile": ("P", "for bedrock and aws: a profile of AWS's own tools"),
}


def _add_auth(commands: Commands) -> None:
    actions = group(commands, "auth", "Keep accounts with providers, and their keys in the system keyring.")
    command(actions, "status", "Show where each account's key comes from, and where it is sent.", "auth status")
    keep = command(actions, "set", "Store a key.", "auth set anthropic --account work")
    address = "the address that this key is for: it is sent nowhere else (default: the provider's own)"
    keep.add_argument("--base-url", type=address_argument, metavar="URL", help=address)
    keep.add_argument("--header", choices=get_args(KeyHeader), metavar="H", help=f"how the key is sent: {_HEADERS}")
    remove = command(actions, "delete", "Remove a key, and the account if it has a name.", "auth delete anthropic")
    which = "which of the provider's accounts (default: the usual one)"
    sign_in = command(
        actions,
        "sign-in",
        "Sign in by the browser (openai, openrouter), or use the sign-in of other tools (anthropic, bedrock, vertex, "
        "foundry, aws).",
        "auth sign-in openai",
        "PROVIDER",
    )
    forget = command(actions, "sign-out", "Forget a sign-in.", "auth sign-out openai", "PROVIDER")
    for action in (sign_in, forget):
        action.add_argument("--account", metavar="NAME", help="the account, when there are several of the provider")
    for field, (metavar, summary) in _CLOUD_OPTIONS.items():
        for action in (keep, sign_in) if field != "profile" else (sign_in,):
            action.add_argument(f"--{field.replace('_', '-')}", metavar=metavar, help=summary)
    for action in (keep, remove):
        action.add_argument("provider", metavar="PROVIDER", help=f"one of {', '.join(_VENDOR_IDS)}")
        action.add_argument("--account", metavar="NAME", help=which)


def _add_models(commands: Commands) -> None:
    actions = group(commands, "models", "List the models of an account, with what is known of each.")
    listing = command(
        actions, "list", "List them, offline unless --refresh is given.", "models list --provider openrouter"
    )
    listing.add_argument("--provider", metavar="P", help=f"one of {', '.join(_VENDOR_IDS)} (default: the settings')")
    listing.add_argument("--account", metavar="NAME", help="which of the provider's accounts (default: the settings')")
    listing.add_argument("--refresh", action="store_true", help="ask the account's address for its list first")


GRANTS = ("authorization_code", "client_credentials")


def _add_mcp(commands: Commands) -> None:
    actions = group(commands, "mcp", "Define, test and switch MCP servers, which offer tools to the model.")
    command(actions, "list", "List the servers that are defined for this folder. Starts none.", "mcp list")
    summary = "Define a server by its command line, after --, or by its address, with --url."
    add = command(actions, "add", summary, "mcp add git --env DEBUG=1 -- uvx mcp-server-git", "NAME")
    add.usage = "desktop-agent mcp add NAME [--env K=V] [--cwd DIR] [--sandbox [--folder DIR] [--host HOST]] "
    add.usage += "-- COMMAND ARGS…\n       "
    add.usage += "desktop-agent mcp add NAME --url URL [--header K=V] [--client-id ID [--client-secret]]"
    add.usage += "\n       desktop-agent mcp add NAME --from KNOWN [--no-sandbox]"
    add.add_argument("--url", metavar="URL", help="reach it by streamable HTTP")
    add.add_argument("--from", dest="known", metavar="KNOWN", help="one of `mcp catalogue`, as its makers publish it")
    header_help = "a header for every request, with --url; one that is a secret goes to the system keyring"
    add.add_argument("--header", action="append", default=[], metavar="K=V", help=header_help)
    what = "this application's client ID at the authorisation server, or the URL of a document that describes it"
    add.add_argument("--client-id", metavar="ID", help=what)
    secret = "ask for its secret or private key, or read it from a pipe; it goes to the system keyring"  # noqa: S105
    add.add_argument("--client-secret", action="store_true", help=secret)
    add.add_argument("--issuer", metavar="URL", help="the one authorisation server that may be used")
    grant = "client_credentials: the application signs in by itself, without you (default: authorization_code)"
    add.add_argument("--grant", choices=GRANTS, metavar="G", help=grant)
    port = "the port that the browser comes back to, if it is registered with one (default: any)"
    add.add_argument("--callback-port", type=int, metavar="N", help=port)
    add.add_argument("--env", action="append", default=[], metavar="K=V", help="a variable for the program")
    add.add_argument(
        "--cwd", type=real_path_named, metavar="DIR", help="the folder it starts in (default: that of the session)"
    )
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
    take.add_argument("file", type=real_path_named, metavar="FILE")
    test = command(
        actions, "test", "Start a server, list its tools with what they cost, and end it.", "mcp test git", "NAME"
    )
    accept_help = "allow its tools as they are now, so that your rules apply to them again"
    test.add_argument("--accept", action="store_true", help=accept_help)
    for name, summary in (
        ("sign-in", "Sign in with a server at an address, by the browser."),
        ("sign-out", "Forget the sign-in with a server."),
    ):
        command(actions, name, summary, f"mcp {name} tickets", "NAME")
    command(actions, "remove", "Remove a server from the settings.", "mcp remove git", "NAME")
    command(actions, "logs", "Show what a server wrote to its standard error.", "mcp logs git", "NAME")
    for name, summary in (("enable", "Use a server, or one of its tools."), ("disable", "Stop using it.")):
        command(actions, name, summary, f"mcp {name} git/git_push", "NAME[/TOOL]")


def _add_skills(commands: Commands) -> None:
    actions = group(
        commands, "skills", "Show the skills: instructions for particular tasks, for the model and for you."
    )
    command(actions, "list", "List the skills of a folder and of your home folder, and their state.", "skills list")


def _add_plugins(commands: Commands) -> None:
    actions = group(
        commands, "plugins", "Add and remove plugins, which bundle skills, sub-agents, hooks and MCP servers."
    )
    command(actions, "list", "List the plugins of a folder and yours, and what each brings and starts.", "plugins list")
    summary = "Show what a plugin brings and starts, then add a copy, or update it. Nothing runs before you agree."
    add = command(actions, "add", summary, "plugins add https://github.com/obra/superpowers", "SOURCE")
    add.add_argument("--folder", default="", metavar="DIR", help="the folder of the plugin in the source")
    add.add_argument("--yes", action="store_true", help="add it without asking")
    add.add_argument("--dry-run", action="store_true", help="only show what it brings and starts")
    enable = command(
        actions,
        "enable",
        "Switch a plugin on. One that has changed is shown, and allowed as it is.",
        "plugins enable mine",
        "NAME",
    )
    enable.add_argument("--yes", action="store_true", help="allow it without asking")
    command(actions, "disable", "Switch a plugin off.", "plugins disable mine", "NAME")
    command(actions, "remove", "Remove a plugin and all that its programs stored.", "plugins remove mine", "NAME")


def _add_agents(commands: Commands) -> None:
    actions = group(commands, "agents", "Define and test agents of other programs, which work in sessions here.")
    command(actions, "list", "List the agents that are defined or installed. Starts none.", "agents list")
    summary = "Define an agent by its command line, after --. A known one needs only its name."
    add = command(actions, "add", summary, "agents add mine --secret API_KEY -- my-agent --acp")
    add.usage = "desktop-agent agents add NAME [--env K=V] [--secret K] [--sandbox S [--host HOST]] [-- COMMAND ARGS…]"
    add.usage += "\n       desktop-agent agents add --from FILE [ID]\n       desktop-agent agents add --from-zed [NAME]"
    add.add_argument("name", nargs="?", metavar="NAME", help="its name; with --from, its id in the file")
    file_help = "a JSON file of the agents' registry; nothing is downloaded"
    add.add_argument("--from", dest="file", type=real_path_named, metavar="FILE", help=file_help)
    add.add_argument("--from-zed", action="store_true", help="the agents in Zed's settings, all or the one named")
    env_help = "a variable for the program; one that is a secret goes to the system keyring"
    add.add_argument("--env", action="append", default=[], metavar="K=V", help=env_help)
    value_help = "a secret variable: its value is asked for, or read from a pipe, and goes to the system keyring"
    add.add_argument("--secret", action="append", default=[], metavar="K", help=value_help)
    sandbox_help = f"confine it: {', '.join(SANDBOXES)} (none, as in your terminal)"
    add.add_argument("--sandbox", choices=SANDBOXES, metavar="S", help=sandbox_help)
    host_help = "a host that it may reach from the sandbox, such as example.org or *.example.org"
    add.add_argument("--host", dest="hosts", action="append", default=[], metavar="HOST", help=host_help)
    mode_help = "the id of the agent's mode to set (default: the safest of those that ask)"
    add.add_argument("--mode", metavar="ID", help=mode_help)
    summary = "Start an agent in an empty folder, say what it offers, and end it."
    command(actions, "test", summary, "agents test claude", "NAME")
    summary = "Sign in with an agent, in its own way: in this terminal, or in a browser that it opens."
    login = command(actions, "login", summary, "agents login claude", "NAME")
    method_help = "the id of one of its sign-ins; needed if it has several, or to sign in again"
    login.add_argument("--method", metavar="ID", help=method_help)
    command(actions, "remove", "Remove an agent from the settings.", "agents remove mine", "NAME")


def _add_hooks(commands: Commands) -> None:
    actions = group(commands, "hooks", "Show the commands that run at events of a session, and trust a project's.")
    command(actions, "list", "List the hooks that are defined for a folder, and which of them run.", "hooks list")
    trust = command(actions, "trust", "Let a project's new and changed hooks run, or ignore them.", "hooks trust")
    trust.add_argument("--ignore", action="store_true", help="do not run them, and do not ask again")
    trust.add_argument("--dry-run", action="store_true", help="only show what would run")


def _add_config(commands: Commands) -> None:
    actions = group(commands, "config", "Show and change the settings.")
    show = command(actions, "show", "Show all settings, and where each value comes from.", "config show execution")
    show.add_argument("section", nargs="?", metavar="SECTION", help="only this section, such as tools.limits")
    command(actions, "path", "Show where the settings file is.", "config path")
    command(actions, "get", "Show one setting.", "config get model.name", "KEY")
    summary = "Remove one setting from the file, so that its default applies."
    command(actions, "reset", summary, "config reset ui.theme", "KEY")
    trust = command(
        actions, "trust", "Trust a project: its settings apply, and its MCP servers start.", "config trust ~/code/app"
    )
    trust.add_argument(
        "folder", nargs="?", type=real_path_named, metavar="DIR", help="the project (default: --workspace)"
    )
    trust.add_argument("--ignore", action="store_true", help="ignore them instead, until they change")
    trust.add_argument("--dry-run", action="store_true", help="only show what they would change")
    change = command(actions, "set", "Change one setting.", "config set execution.approval always", "KEY")
    change.add_argument("value", metavar="VALUE", help="as in the settings file; text needs no quotes")


def _add_acp(commands: Commands) -> None:
    summary = "Serve sessions to an editor on standard input and output, by the Agent Client Protocol."
    acp = command(commands, "acp", summary, "acp --provider anthropic --approval on_write")
    add_model(acp)
    acp.add_argument("--role", choices=ROLES, metavar="R", help=f"its tools and prompt: {', '.join(ROLES)} (worker)")
    add_mode(acp)
    acp.add_argument("--sign-in", action="store_true", help="ask for a provider's key in the terminal, and store it")


def _add_serve(commands: Commands) -> None:
    summary = "Serve sessions over HTTP to programs and browsers, until Ctrl+C."
    serve = command(commands, "serve", summary, "serve --port 8400")
    serve.add_argument("--host", default="127.0.0.1", metavar="H", help="the address to listen at (127.0.0.1)")
    serve.add_argument("--port", type=_port, default=0, metavar="N", help="the port; 0, the default, is any free one")
    tls_help = "encrypt with this certificate and its key, two PEM files; needed for any address but this machine's own"
    serve.add_argument("--tls", type=real_path_named, nargs=2, metavar=("CERT", "KEY"), help=tls_help)


def _port(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and int(text) < 65_536):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a whole number up to 65535")
    return int(text)


def _add_doctor(commands: Commands) -> None:
    command(commands, "doctor", "Check that everything needed works here, and say what to do if not.", "doctor")


def _add_desktop(commands: Commands) -> None:
    actions = group(commands, "desktop", "Put Desktop Agent into the menu of a Linux desktop, or take it out.")
    command(actions, "install", "Add it to the menu, with its icons and links, for this user.", "desktop install")
    command(actions, "uninstall", "Remove what `install` added.", "desktop uninstall")


_WINDOW = """\
without a command, the window opens:
  desktop-agent [WORKSPACE] [--resume [ID] | --continue | --demo] [--new-window]
                [--provider P] [--model M] [--base-url URL] [--account NAME]

Example: desktop-agent ~/code/app --continue"""

_COMMANDS: Mapping[str, Callable[[Commands], None]] = {
    "run": _add_run, "batch": _add_batch, "sessions": _add_sessions, "changes": _add_changes,
    "worktrees": _add_worktrees, "costs": _add_costs, "storage": _add_storage, "tools": _add_tools, "auth": _add_auth,
    "models": _add_models, "mcp": _add_mcp, "agents": _add_agents, "skills": _add_skills, "hooks": _add_hooks,
    "plugins": _add_plugins,
    "config": _add_config, "acp": _add_acp, "serve": _add_serve, "desktop": _add_desktop, "doctor": _add_doctor,
}  # fmt: skip


def build_parser(only: str = "") -> argparse.ArgumentParser:
    """Return the parser of all commands, or of the one named by `only`, which is quicker."""
    parser = argparse.ArgumentParser(
        prog="desktop-agent",
        description="A coding assistant whose every change can be seen and undone.",
        epilog=_WINDOW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"desktop-agent {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in [only] if only in _COMMANDS else _COMMANDS:
        _COMMANDS[name](commands.add_parser)
    return parser
