"""The window's command line."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.base.file_names import real_path_named
from desktop_agent.core.base.web_address import address_argument
from desktop_agent.core.models.vendors import PROVIDER_IDS

NEWEST = ""
"""The value of `--resume` without an id, which means the last session of the folder, or of all folders."""


class WindowArguments(Struct, frozen=True, kw_only=True):
    workspace: Path | None = None
    resume: str | None = None
    is_demo: bool = False
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    account: str | None = None
    is_new_window: bool = False


def parse_arguments(argv: Sequence[str]) -> WindowArguments:
    """A wrong command line exits the process with code 2 and a usage line."""
    if not argv:
        return WindowArguments()
    parser = argparse.ArgumentParser(
        prog="desktop-agent",
        description="Open the window. Commands without a window: "
        "run, batch, sessions, changes, worktrees, costs, storage, tools, auth, models, mcp, agents, skills, hooks, "
        "plugins, config, acp, serve, desktop, doctor.",
        epilog="Example: desktop-agent ~/code/app --continue",
    )
    parser.add_argument("workspace", nargs="?", type=real_path_named, metavar="WORKSPACE", help="the folder to work in")
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--resume", nargs="?", const=NEWEST, metavar="ID", help="go on with this session, or the last one"
    )
    start.add_argument("--continue", dest="resume", action="store_const", const=NEWEST, help="go on with the last one")
    start.add_argument(
        "--demo", dest="is_demo", action="store_true", help="a scripted model on a small bundled project; needs no key"
    )
    providers = f"the model's provider: {', '.join(PROVIDER_IDS)}"
    parser.add_argument("--provider", type=_provider, metavar="P", help=providers)
    parser.add_argument("--model", metavar="M", help="the model")
    parser.add_argument("--base-url", type=address_argument, metavar="URL", help="another address of the provider")
    parser.add_argument("--account", metavar="NAME", help="the provider's account; without it, that of the settings")
    new_window = "open another window, also if one runs already; so does naming a model"
    parser.add_argument("--new-window", dest="is_new_window", action="store_true", help=new_window)
    return WindowArguments(**vars(parser.parse_args(argv)))


def _provider(name: str) -> str:
    if name not in PROVIDER_IDS:
        raise argparse.ArgumentTypeError(f"there is no provider {name!r}; known are {', '.join(PROVIDER_IDS)}")
    return name
