"""What was installed with a program: the virtual environment or the tool chain that it is a part of."""

import os
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.sandbox.confinement import Folders

SHARED = frozenset({".local", ".config", ".cache", ".local/share", ".local/state", ".var", "Library", "Documents"})
"""Folders in a home that hold things of many applications: `bin` in one of them says nothing of the others."""

_PROGRAMS = frozenset({"bin", "sbin", "shims", "Scripts"})
_SIGNS_OF_A_PREFIX = ("lib", "lib64", "libexec", "pyvenv.cfg", "VERSION", "packages")
_MOST_PROGRAMS = 2000
"""How many entries of one folder of `PATH` are looked at for links."""
_MOST_LINKS = 10


def installed_with(
    search: Iterable[Path],
    named: Iterable[Path],
    *,
    closed: Folders,
    temp: Folders,
    writable: Folders,
    shared: Container[Path],
) -> Iterator[Path]:
    """Yield what the folders of `PATH` and `named` programs need: what was installed with them, and with their links.

    Blocks. Only what is `closed` counts, of `named` programs only what is in `temp`, and no link in a folder that a
    command can write: it may be the command's own. What lies directly in a `shared` folder was not installed with its
    neighbours.
    """
    looks = _Looks(writable)
    for folder in search:
        looks.installed[folder] = None
        looks.follow_links_in(folder, closed, None)
    for program in named:
        for place in looks.places_of(str(program)):
            if temp.hold(os.path.realpath(place)) and _is_program(place):
                looks.take(place)
                looks.follow_links_in(Path(place).parent, temp, temp)
    yield from looks.alone
    for folder in looks.installed:
        yield _prefix_of(folder, shared)


class _Looks(Struct):
    """Collects folders and programs. Paths are texts: there are hundreds of links, to programs of a few tool chains."""

    writable: Folders
    installed: dict[Path, None] = field(default_factory=dict[Path, None])
    """Folders of programs."""
    alone: dict[Path, None] = field(default_factory=dict[Path, None])
    """Programs in other folders."""
    _real: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, place: str) -> None:
        folder = os.path.dirname(place)  # noqa: PTH120 - see above
        if os.path.basename(folder) in _PROGRAMS:  # noqa: PTH119 - see above
            self.installed[Path(folder)] = None
        else:
            self.alone[Path(place)] = None

    def follow_links_in(self, folder: Path, within: Folders, to: Folders | None) -> None:
        """Take what the links in `folder` lead to, which must lie `within` some folders; of that, what lies in `to`."""
        real = os.path.realpath(folder)
        if not within.hold(real) or self.writable.hold(real):
            return
        with suppress(OSError), os.scandir(real) as entries:
            for _, entry in zip(range(_MOST_PROGRAMS), entries, strict=False):
                for place in self.places_of(entry.path) if entry.is_symlink() else ():
                    if to is None or to.hold(os.path.realpath(place)):
                        self.take(place)

    def places_of(self, program: str) -> Iterator[str]:
        """Yield the path of a program, each that a link of that name leads to, and the last one resolved."""
        for _ in range(_MOST_LINKS):
            if self._is_writable(program):
                return
            yield program
            try:
                target = os.readlink(program)  # noqa: PTH115 - see above
            except OSError:
                break
            program = os.path.normpath(os.path.join(os.path.dirname(program), target))  # noqa: PTH118, PTH120 - see above
        yield os.path.realpath(program)

    def _is_writable(self, path: str) -> bool:
        folder = os.path.dirname(path)  # noqa: PTH120 - see above
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        return self.writable.hold(path) or self.writable.hold(self._real[folder])


def _is_program(path: str) -> bool:
    """Whether a command line can run it; `activate` of a virtual environment is read by the shell."""
    if not os.path.isfile(path):  # noqa: PTH113 - `Path` does not forgive a folder that is closed to us
        return False
    folder, name = os.path.split(path)
    is_environment = name == "activate" and os.path.exists(os.path.join(os.path.dirname(folder), "pyvenv.cfg"))  # noqa: PTH110, PTH118, PTH120
    return is_environment or os.access(path, os.X_OK)


def _prefix_of(folder: Path, shared: Container[Path]) -> Path:
    """Return the folder that a tool chain with its programs in `folder` was installed in; else `folder`."""
    prefix = folder.parent
    if folder.name not in _PROGRAMS or prefix in shared:
        return folder
    # Not by `Path`, which does not forgive a folder that is closed to us.
    return prefix if any(os.path.exists(prefix / name) for name in _SIGNS_OF_A_PREFIX) else folder  # noqa: PTH110
