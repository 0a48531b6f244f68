"""The commands of `desktop-agent`: functions that are imported only when they are called."""

import argparse
import gc
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from desktop_agent.cli.console import Console, OutputError
from desktop_agent.cli.parser import build_parser
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.system.private_files import close_to_others

_FUNCTIONS = {
    "sessions list": "sessions.list_sessions",
    "sessions show": "sessions.show_session",
    "sessions verify": "sessions.verify_stored",
    "sessions search": "session_actions.search",
    "sessions export": "session_actions.export_session",
    "sessions import": "session_actions.import_session",
    "sessions fork": "session_actions.fork",
    "sessions rename": "session_actions.rename",
    "sessions archive": "session_actions.archive",
    "sessions pin": "session_actions.pin",
    "sessions delete": "session_actions.delete",
    "changes list": "changes.list_changes",
    "changes diff": "changes.show_diff",
    "changes undo": "changes_actions.undo_or_redo",
    "changes redo": "changes_actions.undo_or_redo",
    "changes commit": "changes_actions.commit",
    "worktrees list": "worktrees.list_worktrees",
    "worktrees bring-back": "worktrees.bring_back",
    "worktrees take": "worktrees.take",
    "worktrees remove": "worktrees.remove",
    "worktrees restore": "worktrees.restore",
    "storage show": "storage.show",
    "storage collect": "storage.collect_unused",
    "tools list": "tools.list_tools",
    "tools describe": "tools.describe",
    "tools call": "tools.call_tool",
    "auth status": "auth.show_status",
    "auth set": "auth.store_key",
    "auth delete": "auth.delete_key",
    "auth sign-in": "signing.with_provider",
    "auth sign-out": "signing.with_provider",
    "models list": "models.main",
    "agents list": "agents.list_agents",
    "agents add": "agents.add",
    "agents remove": "agents.remove",
    "agents test": "agent_trials.test",
    "agents login": "agent_trials.login",
    "skills list": "extensions.list_skills",
    "mcp list": "mcp.list_servers",
    "mcp catalogue": "mcp.list_known",
    "mcp logs": "mcp.show_log",
    "mcp test": "mcp_testing.main",
    "mcp sign-in": "signing.with_server",
    "mcp sign-out": "signing.with_server",
    "mcp add": "mcp.add",
    "mcp remove": "mcp.remove",
    "mcp import": "mcp.import_servers",
    "mcp enable": "mcp.switch",
    "mcp disable": "mcp.switch",
    "plugins list": "extensions.list_plugins",
    "plugins add": "extensions.add_plugin",
    "plugins enable": "extensions.enable_plugin",
    "plugins disable": "extensions.disable_plugin",
    "plugins remove": "extensions.remove_plugin",
    "hooks list": "extensions.list_hooks",
    "hooks trust": "extensions.trust_hooks",
    "config show": "config.show_settings",
    "config path": "config.show_path",
    "config get": "config.show_setting",
    "config set": "config.change_setting",
    "config reset": "config.reset_setting",
    "config trust": "extensions.trust_project",
}
"""The commands whose function is not `main` in the module with the command's name."""

_Function = Callable[[argparse.Namespace, Console], int | None]


def run_command(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Parse `argv`, carry the command out, and return the exit code.

    `environ` has the API keys, which may have been removed from `os.environ`. Commands find it in `args.environ`.
    """
    words, args_behind = _split(argv)
    args = build_parser(words[0]).parse_args(words)
    args.environ, args.command_line = environ, args_behind
    console = Console(is_json=args.json)
    close_to_others(AppPaths.from_environment().roots)
    action: str = getattr(args, "action", "")
    args.launched = _launched(args)
    function = _imported(_FUNCTIONS.get(f"{args.command} {action}".rstrip(), f"{args.command}.main"))
    try:
        return function(args, console) or 0
    except AgentError as error:
        if not (isinstance(error, OutputError) and error.is_closed):
            console.fail(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    finally:
        if args.launched is not None:
            args.launched.kill()  # if the run did not end it


def _launched(args: argparse.Namespace) -> Any:
    """Start the process of Anthropic's SDK for a run that needs it, before the rest of `run` is imported.

    Return its `SdkConnection`, or `None`.
    """
    if args.command != "run" or args.resume is not None or args.continue_last or args.config is not None or args.agent:
        return None
    from desktop_agent.core.providers.provider_catalog import launched_for

    named = {part: getattr(args, part) for part in ("provider", "model", "base_url", "account")}
    return launched_for(named, args.client, AppPaths.from_environment(), args.environ)


def _split(argv: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Return this program's arguments, and another program's command line behind the `--` of `mcp add`, `agents add`.

    `argparse` takes no options between a positional argument and a `--`.
    """
    if list(argv[:2]) not in (["mcp", "add"], ["agents", "add"]) or "--" not in argv:
        return argv, []
    place = list(argv).index("--")
    return argv[:place], list(argv[place + 1 :])


def _imported(named: str) -> _Function:
    """Import the function of a command. Freeze the modules, and switch the garbage collector on if it was off."""
    module, _, name = named.rpartition(".")
    imported = importlib.import_module(f"desktop_agent.cli.{module}")
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return cast("_Function", getattr(imported, name))
