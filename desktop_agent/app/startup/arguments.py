"""What the window should show, from its command line or from a later start.

Each home has one window: whatever is opened while it runs appears there, unless another window is requested. The first
window listens on a local socket that only its user can connect to (`app/window_controller.py`). A later start sends one
line of JSON, and ends once it is answered. Without an answer, it opens its own window."""

import argparse
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from desktop_agent.core.base.file_names import real_path_named
from desktop_agent.core.base.paths import AppPaths
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
    start.add_argument("--resume", nargs="?", const=NEWEST, metavar="ID", help="continue this session, or the last one")
    start.add_argument("--continue", dest="resume", action="store_const", const=NEWEST, help="continue the last one")
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


ANSWER = b"opened\n"
_PATIENCE_S = 2.0
_LONGEST_PLACE = 100
"""How many bytes the name of a socket can have: 104 on macOS, 108 on Linux."""
TOKEN = "XDG_ACTIVATION_TOKEN"  # noqa: S105 - with it, the desktop lets a window come to the front


class Asked(Struct, frozen=True, kw_only=True):
    """What a later start asks for."""

    workspace: str | None = None
    resume: str | None = None
    is_demo: bool = False
    activation: str = ""

    @property
    def arguments(self) -> WindowArguments | None:
        """What to show; `None` if only the window was asked for."""
        if self.workspace is None and self.resume is None and not self.is_demo:
            return None
        workspace = Path(self.workspace) if self.workspace is not None else None
        return WindowArguments(workspace=workspace, resume=self.resume, is_demo=self.is_demo)


def hand_over(arguments: WindowArguments, paths: AppPaths, environ: Mapping[str, str]) -> bool:
    """Let the running window open what is asked for. Return False if none runs. Blocks for 2 s at most."""
    own_model = (arguments.provider, arguments.model, arguments.base_url, arguments.account)
    if arguments.is_new_window or any(part is not None for part in own_model):
        return False
    workspace = arguments.workspace or (Path() if arguments.resume == NEWEST else None)
    asked = Asked(
        workspace=str(workspace.expanduser().absolute()) if workspace is not None else None,
        resume=arguments.resume,
        is_demo=arguments.is_demo,
        activation=environ.get(TOKEN, ""),
    )
    with suppress(OSError):  # no window is listening, or no longer
        return _answer_to(msgspec.json.encode(asked) + b"\n", place_of(paths, environ)) == ANSWER
    return False


def place_of(paths: AppPaths, environ: Mapping[str, str]) -> str:
    """Return the name of the socket. It is in a folder of the user, where no other user can listen."""
    name = f"desktop-agent-{blake2b(os.fsencode(paths.data), digest_size=8).hexdigest()}"
    if sys.platform == "win32":
        return name
    folder = Path(environ.get("XDG_RUNTIME_DIR", ""))
    place = folder / name if folder.is_absolute() and folder.is_dir() else paths.data / "window"
    return str(place) if len(os.fsencode(place)) <= _LONGEST_PLACE else ""


def _answer_to(line: bytes, place: str) -> bytes:
    if sys.platform == "win32":
        with open(rf"\\.\pipe\{place}", "r+b", buffering=0) as pipe:  # noqa: PTH123 - not a path
            pipe.write(line)
            return pipe.readline()
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(_PATIENCE_S)
        connection.connect(place)
        connection.sendall(line)
        return connection.makefile("rb").readline()


def is_served(place: str) -> bool:
    if sys.platform == "win32":
        return Path(rf"\\.\pipe\{place}").exists()
    with suppress(OSError), closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(0)
        connection.connect(place)
        return True
    return False
