"""What was installed with a program: the virtual environment or the tool chain that it is a part of."""

import os
import re
import stat
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
_MOST_STEPS = 20
_LONGEST_SCRIPT = 64 * 1024
_SHELLS = frozenset({b"sh", b"bash", b"dash", b"ash", b"ksh", b"zsh"})
_QUOTED_PATH, _BARE_PATH = rb"[\"'](/[^\"'$`\n]+)[\"']", rb"(?<![\w./$}\"'-])(/[^\s\"'$`;|&<>()\\]+)"


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


def launching(program: Path, writable: Folders) -> tuple[Path, ...]:
    """Return `program` and the programs that it starts through, nearest first, as they are named.

    Blocks. These are the targets of links, the interpreter of a script, and what a shell script names by an absolute
    path: `npx` is a link into the folder of its Node.js, or a script of two lines that runs it. Nothing in a `writable`
    folder is followed, because a command may have written it.
    """
    found: dict[Path, None] = {}
    waiting = [program]
    while waiting and len(found) < _MOST_STEPS:
        for place in _Looks(writable).places_of(str(waiting.pop(0))):
            if Path(place) not in found and _is_program(place):
                found[Path(place)] = None
                waiting += _named_in(place)
    return tuple(found)


def _named_in(script: str) -> Iterator[Path]:
    """Yield what a script's first line, or any line of a shell script, names by an absolute path."""
    with suppress(OSError, ValueError):
        if not stat.S_ISREG(os.stat(script).st_mode):  # noqa: PTH116 - opening a pipe would block
            return
        with open(script, "rb") as file:  # noqa: PTH123 - `Path` raises for a folder that is closed to us
            text = file.read(_LONGEST_SCRIPT)
        first, _, lines = text.partition(b"\n")
        if not first.startswith(b"#!") or b"\0" in text:
            return
        words = first[2:].split()
        is_of_a_shell = any(word.rpartition(b"/")[2] in _SHELLS for word in words)  # also `/usr/bin/env -S bash`
        named = [words[0]] if words else []
        if is_of_a_shell:
            named += re.findall(_QUOTED_PATH, lines) + re.findall(_BARE_PATH, lines)
        yield from (Path(os.fsdecode(name)) for name in dict.fromkeys(named) if name.startswith(b"/"))


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
