"""The options of `desktop-agent run`."""

from pathlib import Path

from desktop_agent.cli.arguments import (
    Commands,
    above_zero,
    add_accept_folder,
    add_mode,
    add_switch,
    at_least_one,
    command,
    names,
)
from desktop_agent.core.base.web_address import address_argument
from desktop_agent.core.models.vendors import PROVIDER_IDS

ROLES = ("orchestrator", "researcher", "worker")


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    run = command(commands, "run", "Run prompts without a window.", 'run --prompt "Fix the failing test"')
    prompt = run.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", action="append", metavar="TEXT", help="the prompt; several are a turn each")
    prompt.add_argument("--prompt-file", metavar="F", help="read the prompt from a file")
    prompt.add_argument("stdin", nargs="?", choices=["-"], help="read the prompt from standard input")
    include_help = "files that come with the first prompt: texts and pictures, also from outside of the folder"
    run.add_argument("--include", nargs="+", action="extend", default=[], metavar="F", help=include_help)
    session = run.add_mutually_exclusive_group()
    session.add_argument("--resume", metavar="ID", help="go on with this session")
    session.add_argument("--continue", dest="continue_last", action="store_true", help="go on with the last one here")
    add_accept_folder(run)
    run.add_argument("--provider", metavar="P", help=f"the model's provider: {', '.join(PROVIDER_IDS)}")
    run.add_argument("--model", metavar="M", help="the model")
    run.add_argument("--base-url", type=address_argument, metavar="URL", help="another address of the provider")
    run.add_argument("--account", metavar="NAME", help="the provider's account; `auth status` lists them")
    run.add_argument("--effort", metavar="LEVEL", help="how much the model thinks; `models list` shows its levels")
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
    run.add_argument("--audit-log", type=Path, metavar="F", help="append every tool call as a JSON line")
    run.add_argument("--changes-log", type=Path, metavar="F", help="append every change as a JSON line")
    add_switch(run, "--debug-tool-use", "show tool calls")
    run.add_argument("--tool-debug-log", type=Path, metavar="F", help="with --debug-tool-use: append them here too")
    run.add_argument("--undo-last-turn", action="store_true", help="take the run's changes back at the end")
    schema_help = "a JSON Schema: the final answer is JSON by it, or the exit code 1"
    run.add_argument("--output-schema", type=Path, metavar="F", help=schema_help)
    run.add_argument("--config", type=Path, metavar="F", help="another settings file")
    run.add_argument("--stream", action="store_true", help="print every event as a JSON line while running")
    stream_help = "stream: read ops as JSON lines from standard input while running, in place of prompts"
    run.add_argument("--input-format", choices=("text", "stream"), default="text", metavar="F", help=stream_help)
    run.add_argument("--verbose", action="store_true", help="tell what happens on standard error")
