"""Bubblewrap: the command sees the machine's files read-only, in its own namespaces (files, processes, network).

Home folders are empty except for what commands usually need (`guarded`). Secrets and `/run` are covered; `/tmp` is the
session's private folder. Paths that must not be created are covered by an empty mount on a placeholder.
"""

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

assert sys.platform == "linux"

from desktop_agent.core.base.mount_stand_ins import is_stand_in
from desktop_agent.core.sandbox.confinement import PROXY_PORT, ConfinementSpec, check, split_environment
from desktop_agent.core.sandbox.guarded import TEMP, Guards, HomeView, folders_above, homes_in, protection_in
from desktop_agent.core.sandbox.landlock import filter_only
from desktop_agent.core.system.processes.runner import Command

_NAMESPACES = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
_KEPT_IN_RUN = ("/run/current-system", "/run/opengl-driver", "/run/wrappers")
"""Folders that stay visible in `/run`, because NixOS has its programs there."""


class Bubblewrap(Struct, frozen=True):
    program: str
    guards: Guards
    can_forbid_namespaces: bool = True
    """Whether it has `--disable-userns` (0.8.0). Otherwise commands can make namespaces, but gain nothing by that."""
    is_supervised: bool = True
    name: str = "bubblewrap"

    def wrap(self, command: Command, confinement: ConfinementSpec) -> Command:
        check(command, confinement)
        view = _view_of(confinement, self.guards)
        outer, inner = split_environment(command.environ, "/tmp")  # noqa: S108 - the session's own folder by that name
        options = [*_NAMESPACES, "--unshare-net", "--cap-drop", "ALL", "--die-with-parent"]
        if self.can_forbid_namespaces:
            options.append("--disable-userns")
        if not confinement.has_terminal:
            options.append("--new-session")
        for name, value in inner.items():
            options += ["--setenv", name, value]
        folder = str(command.cwd.resolve())
        way_out = f"{PROXY_PORT}:/tmp/{confinement.way_out}" if confinement.way_out else ""
        launched = filter_only(command.argv, is_supervised=self.is_supervised, way_out=way_out)
        argv = (self.program, *options, *view.options(), "--chdir", folder, "--", *launched)
        return replace(command, argv=argv, environ=outer, stand_ins=tuple(view.stand_ins))


class _View(Struct):
    mounts: dict[Path, tuple[str, ...]] = field(default_factory=dict[Path, tuple[str, ...]])
    covered: dict[Path, None] = field(default_factory=dict[Path, None])
    stand_ins: list[Path] = field(default_factory=list[Path])

    def show(self, path: Path, *, is_writable: bool) -> None:
        self.mounts[path] = ("--bind" if is_writable else "--ro-bind", str(path), str(path))
        self.covered.pop(path, None)

    def cover(self, path: Path, *mount: str) -> None:
        self.mounts[path] = mount
        self.covered[path] = None

    def hide(self, path: Path) -> None:
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - first, and fast: most are not there
            if path.is_symlink():  # a mount would follow it, also to where there is nothing in the sandbox
                path = Path(os.path.realpath(path))
        except OSError:
            return
        if path in self.mounts or not self._shows(path):
            return
        if is_folder:
            self.cover(path, "--tmpfs", str(path))
        else:
            self.cover(path, "--ro-bind", "/dev/null", str(path))

    def empty_homes(self, homes: HomeView) -> None:
        for path in sorted(homes.emptied, key=lambda path: len(path.parts)):
            if TEMP not in path.parents:  # absent anyway, because the sandbox has another `/tmp`
                self.cover(path, "--tmpfs", str(path))
        for path, target in homes.links:
            self.mounts[path] = ("--symlink", target, str(path))
        for path in homes.shown:
            self.mounts[path] = ("--ro-bind-try", str(path), str(path))  # a cache may be gone a moment later
            self.covered.pop(path, None)
        for path, real in homes.other_names:
            self.mounts[path] = ("--ro-bind-try", str(real), str(path))

    def forbid_folder(self, path: Path) -> None:
        self.cover(path, "--tmpfs", str(path))
        self.stand_ins.append(path)

    def pin(self, roots: Iterable[Path]) -> None:
        """Bind each folder above a mount to itself, so that a command cannot rename the folder."""
        for path in folders_above(list(self.mounts), tuple(roots)):
            nearest = next(folder for folder in path.parents if folder in self.mounts)
            if path not in self.mounts and self.mounts[nearest][0] == "--bind" and path.is_dir():
                self.show(path, is_writable=True)

    def options(self) -> list[str]:
        # Read-only as a whole: root inside owns the machine's settings in /proc/sys, even without capabilities.
        options = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
        for path in sorted(self.mounts, key=lambda path: len(path.parts)):
            options += self.mounts[path]
        for path in self.covered:
            if self.mounts[path][0] == "--tmpfs":
                options += ["--remount-ro", str(path)]
        return options

    def _shows(self, path: Path) -> bool:
        nearest = next((folder for folder in path.parents if folder in self.mounts), None)
        return nearest is None or nearest not in self.covered


def _view_of(confinement: ConfinementSpec, guards: Guards) -> _View:
    view = _View()
    view.cover(Path("/run"), "--tmpfs", "/run")
    if not Path("/var/run").is_symlink() and Path("/var/run").is_dir():
        view.cover(Path("/var/run"), "--tmpfs", "/var/run")
    view.cover(Path("/tmp"), "--bind", str(confinement.temp.resolve()), "/tmp")  # noqa: S108
    for path in map(Path, _KEPT_IN_RUN):
        if path.exists():
            view.show(path, is_writable=False)
    homes = homes_in(confinement, guards)
    view.empty_homes(homes)
    for path in confinement.readable:
        view.show(path.resolve(), is_writable=False)
    view.show(confinement.workspace.resolve(), is_writable=False)
    for path in confinement.roots:
        view.show(path, is_writable=True)
    protection = protection_in(confinement, guards)
    for path in protection.existing:
        # Another command's placeholder, or one that a killed process left. An empty `.git` is no repository either.
        if is_stand_in(path) or (path.name == ".git" and path.is_dir() and not any(path.iterdir())):
            view.forbid_folder(path)
        else:
            view.show(path, is_writable=False)
    for path in protection.missing_folders:
        view.forbid_folder(path)
    for path in (*guards.hidden, *homes.hidden, *confinement.hidden):
        for name in (path, *homes.names_of(path)):
            view.hide(name)
    view.pin(confinement.roots)
    return view
