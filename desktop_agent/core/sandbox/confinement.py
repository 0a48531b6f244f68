"""The permissions of one command, and helpers that all sandboxes share."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.errors import SandboxError
from desktop_agent.core.base.regex import regex
from desktop_agent.core.system.processes.runner import Command

PROXY_PORT = 3128
"""The proxy's port in the command's own network, where nothing else listens."""


class ConfinementSpec(Struct, frozen=True, kw_only=True):
    """What one command may do, besides reading the system's files. Homes and secrets are not among these files.

    In writable folders, `.git` and `.desktop-agent` stay read-only. The command has no network except for `way_out`.
    """

    workspace: Path
    is_workspace_writable: bool
    temp: Path
    """The session's private folder for temporary files, always writable: `/tmp` (bubblewrap) or `TMPDIR` (others)."""
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    """Readable although they are in a hidden place, such as the logs of the session's jobs."""
    visible: tuple[Path, ...] = ()
    """Readable in a home folder besides tool chains, because the user chose them."""
    programs: tuple[Path, ...] = ()
    """Programs on its command line. Those in `/tmp` are visible, along with what was installed with them."""
    search: tuple[Path, ...] = ()
    """Program folders that the user named besides `PATH`. They are visible, with what was installed with them."""
    secrets_in: Callable[[Iterable[Path]], tuple[Path, ...]] = lambda _: ()
    """Returns what stays hidden in those folders of the real `/tmp` that are visible because of programs. May block."""
    hidden: tuple[Path, ...] = ()
    """Unreadable although they are in the workspace. Only bubblewrap can enforce this."""
    repositories: tuple[Path, ...] = ()
    """Every known `.git` in the writable folders, at any depth. The sandbox adds those that a quick search finds."""
    way_out: str = ""
    """The name in `temp` of the proxy's socket, the command's only network access. Only for bubblewrap."""
    has_terminal: bool = False
    """Whether it stays in its own terminal's session, so that Ctrl+C reaches it."""

    @property
    def roots(self) -> tuple[Path, ...]:
        """The user's folders that the command can write to, without symbolic links. Blocks."""
        workspace = (self.workspace,) if self.is_workspace_writable else ()
        return tuple(dict.fromkeys(path.resolve() for path in (*workspace, *self.writable)))

    @property
    def shown(self) -> tuple[Path, ...]:
        return (self.workspace.resolve(), *(path.resolve() for path in self.readable))


def confinement_for(
    mode: Literal["strict", "restricted"], workspace: Path, temp: Path, allowed_paths: Iterable[Path]
) -> ConfinementSpec:
    """Return a command's permissions. `strict` ignores `allowed_paths`, but not `temp`, which compilers need."""
    is_restricted = mode == "restricted"
    return ConfinementSpec(
        workspace=workspace,
        is_workspace_writable=is_restricted,
        temp=temp,
        writable=tuple(allowed_paths) if is_restricted else (),
    )


def check(command: Command, confinement: ConfinementSpec) -> None:
    texts = (*command.argv, *command.environ, *command.environ.values())
    if not command.argv or any("\0" in text for text in texts):
        raise SandboxError("The command cannot be run: it is empty or contains a NUL character.")
    if not command.cwd.is_dir():
        raise SandboxError(f"The folder to run in does not exist: {command.cwd}", hint="Choose another folder.")
    for folder in (confinement.workspace, confinement.temp, *confinement.writable):
        if not folder.is_dir():
            raise SandboxError(f"The sandbox needs a folder that does not exist: {folder}")
    for root in confinement.roots:
        if root in _TOO_WIDE:
            raise SandboxError(f"A sandbox in which {root} may be written would be none.", hint="Open a folder in it.")


def require_no_way_out(confinement: ConfinementSpec, name: str) -> None:
    if confinement.way_out:
        raise SandboxError(
            f"The sandbox of this machine ({name}) cannot let a program reach some hosts only.",
            hint="Install bubblewrap, or take its hosts away.",
        )


_TOO_WIDE = frozenset(Path(path) for path in ("/", "/dev", "/proc", "/sys", "/run", "/tmp", "/var", "/etc", "/usr"))  # noqa: S108

_UNSAFE = regex(
    r"LD_.*|DYLD_.*|GLIBC_TUNABLES|MALLOC_.*|GCONV_PATH|GETCONF_DIR|HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH"
    r"|RESOLV_HOST_CONF|RES_OPTIONS|TZDIR|PYTHON.*|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|PS4|IFS|CDPATH"
)
"""Variables that steer the loader (those it ignores for set-uid programs), Python, or a shell before its first line."""


def split_environment(environ: Mapping[str, str], temp: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables for the sandbox's own program, and those that only the command gets.

    The program starts outside the sandbox. A model's `LD_PRELOAD` in its environment would be an escape.
    """
    outer: dict[str, str] = {}
    inner: dict[str, str] = {}
    for name, value in environ.items():
        is_plain = name.isascii() and name.isidentifier() and not _UNSAFE.fullmatch(name)
        (outer if is_plain else inner)[name] = value
    outer |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), temp)
    return outer, inner


class Folders(Struct, frozen=True):
    prefixes: tuple[str, ...]
    """Each folder with a trailing slash."""

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "Folders":
        return cls(tuple(os.path.join(path, "") for path in paths))  # noqa: PTH118 - for the slash

    def hold(self, path: Path | str) -> bool:
        return f"{path}/".startswith(self.prefixes)

    def within(self, path: Path | str) -> "Folders":
        return Folders(tuple(prefix for prefix in self.prefixes if prefix.startswith(f"{path}/")))


def is_within(path: Path, folders: Iterable[Path]) -> bool:
    return Folders.of(folders).hold(path)
