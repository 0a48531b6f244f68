"""`grep`: search file contents with ripgrep, with bounded and reproducible answers."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import Literal

from msgspec import Struct
from pydantic import Field, model_validator

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.file_names import legible_name
from desktop_agent.core.base.file_types import HEAD_BYTES
from desktop_agent.core.base.globs import Glob
from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.boundary import ResolvedPath
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.protocol.model import JsonObject, ToolResult
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.system.processes.runner import Command
from desktop_agent.core.tools.files.file_tool import GlobText, PathText, not_found, opened_file, path_read
from desktop_agent.core.tools.files.listing import left_out
from desktop_agent.core.tools.files.ripgrep import (
    MOST_CARDS,
    GrepMatches,
    SearchEnd,
    card,
    file_cards,
    prepare,
    relative_to,
    run_ripgrep,
)
from desktop_agent.core.tools.files.text_files import looks_binary
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext, json_text

MOST_COLLECTED = 5_000
MOST_FILES = 100_000
MOST_RETURNED_BYTES = 60_000
_MOST_NAMED = 200 if os.name == "nt" else 5_000
"""How many files are named to ripgrep besides the folder: the length of a command line is limited."""

_ADVICE = "Narrow the search with pattern, path or include, or raise max_results."
_LONGEST_REASON = 600
_NEWLINE = regex(r"\n|(?<!\\)(?:\\\\)*\\n")


class GrepArguments(ToolArguments):
    pattern: str = Field(
        min_length=1, description="Regular expression (Rust syntax; lookaround and backreferences work)."
    )
    path: PathText = Field(default=".", description="File or directory to search, relative to the workspace.")
    include: GlobText | None = Field(
        default=None, description="Search only files that match, such as *.py or src/**/*.{ts,tsx}, relative to path."
    )
    output_mode: Literal["content", "files_with_matches", "count"] = Field(
        default="content", description="content: matching lines. files_with_matches: paths. count: matches per file."
    )
    case_insensitive: bool = Field(default=False, description="Ignore case.")
    multiline: bool = Field(default=False, description="Let the pattern span lines; . then matches newlines too.")
    context_lines: int = Field(default=0, ge=0, le=10, description="Lines to show before and after each match.")
    before: int = Field(default=0, ge=0, description="Lines to show before each match.")
    after: int = Field(default=0, ge=0, description="Lines to show after each match.")
    around: int = Field(default=0, ge=0, description="Same as context_lines, without its limit.")
    max_results: int = Field(default=100, ge=1, le=1000, description="How many matches (or files) to return.")
    head_limit: int | None = Field(
        default=None, ge=1, description="Return only the first lines (or files) of the answer."
    )

    @model_validator(mode="after")
    def _can_match(self) -> "GrepArguments":
        if not self.multiline and _NEWLINE.search(self.pattern):
            raise ValueError("the pattern has a newline: set multiline to true")
        return self


class Grep(ReadTool[GrepArguments]):
    name = "grep"
    description = (
        "Search file contents with a regular expression. Leaves out hidden files, .git, node_modules, __pycache__, "
        "files that often hold secrets, binary files and what .gitignore names. Returns JSON: for output_mode content "
        "an array of lines, "
        "path:line:text (context lines path-line-text); for files_with_matches an array of paths; for count an object "
        "from path to number of matches. A last entry in brackets says when there is more."
    )
    capabilities = ("read_fs",)
    arguments_type = GrepArguments

    def title(self, arguments: GrepArguments) -> str:
        return arguments.pattern if arguments.path == "." else f"{arguments.pattern} in {arguments.path}"

    def paths(self, arguments: GrepArguments, context: ToolContext) -> tuple[str, ...]:
        return (path_read(arguments.path, context),)

    async def run(self, arguments: GrepArguments, context: ToolContext) -> ToolResult:
        place = await asyncio.to_thread(_place, arguments, context)
        if (copies := await asyncio.to_thread(_unsaved, place, context)) is not None:
            try:
                return await self._found(arguments, place, [], context, copies)
            finally:
                await unhurried(asyncio.to_thread(shutil.rmtree, copies))
        # Asking git takes as long as a search, and rarely names a file: both are done at once.
        usual = asyncio.create_task(self._found(arguments, place, [], context), name="grep")
        try:
            others = await left_out(place.absolute, arguments.path, context) if place.absolute.is_dir() else []
            if not others:
                return await usual
        finally:
            usual.cancel()
            await asyncio.wait([usual])
        return await self._found(arguments, place, others, context)

    async def _found(
        self,
        arguments: GrepArguments,
        place: ResolvedPath,
        others: list[str],
        context: ToolContext,
        copies: Path | None = None,
    ) -> ToolResult:
        search = await asyncio.to_thread(_prepare, arguments, place, others, context, copies)
        match arguments.output_mode:
            case "content":
                return await _content(arguments, search, context)
            case "files_with_matches":
                return await _files(arguments, search, context)
            case "count":
                return await _counts(arguments, search, context)


class _Search(Struct, frozen=True):
    command: Command
    accepts: Callable[[str], bool]
    where: str

    def secrets_among(self, paths: Iterable[str], context: ToolContext) -> Collection[str]:
        """Return the `paths` that are hard links to secrets, except for the file that the user approved. Blocks."""
        return context.secrets.behind(path for path in paths if path != self.where)


async def _content(arguments: GrepArguments, search: _Search, context: ToolContext) -> ToolResult:
    matches = GrepMatches(search.accepts, MOST_COLLECTED)
    end = await run_ripgrep(search.command, context, separator=b"\n", on_records=matches.add)
    _require_success(end, has_results=matches.count > 0)
    matches.leave_out(await asyncio.to_thread(search.secrets_among, matches.paths, context))
    after = max(arguments.after, arguments.around, arguments.context_lines)
    selection = matches.select(arguments.max_results, lines_after=after, max_bytes=context.room(MOST_RETURNED_BYTES))
    lines, shown = selection.lines[: arguments.head_limit], len(selection.places)
    is_cut = shown < matches.count or len(lines) < len(selection.lines)
    if shown < matches.count and not _is_as_asked(arguments, shown, entries=len(lines)):
        more = "more than " if end.is_stopped else ""
        lines.append(f"[{shown} of {more}{matches.count} matches in {more}{len(matches.paths)} files. {_ADVICE}]")
    if end.skipped_records:
        lines.append(f"[{end.skipped_records} matching lines are too long to show]")
    cards = [card(relative_to(context.boundary.root, path), line, text) for path, line, text in selection.places]
    return _result(
        lines,
        is_cut=is_cut or bool(end.skipped_records),
        cards=cards,
        total_matches=matches.count,
        files=len(matches.paths),
    )


async def _files(arguments: GrepArguments, search: _Search, context: ToolContext) -> ToolResult:
    paths: list[str] = []

    def collect(records: list[bytes]) -> bool:
        found = os.fsdecode(b"\0".join(records)).split("\0")
        paths.extend(filter(search.accepts, (path.removeprefix("./") for path in found if path)))
        return len(paths) < MOST_FILES

    end = await run_ripgrep(search.command, context, separator=b"\0", on_records=collect)
    _require_success(end, has_results=bool(paths))
    paths.sort()
    # Only the shown files are checked, because a search may find 100,000.
    hidden = await asyncio.to_thread(search.secrets_among, paths[: _most_files(arguments)], context)
    shown = [path for path in paths[: _most_files(arguments)] if path not in hidden]
    answer = list(map(legible_name, shown))
    if len(shown) < len(paths) and not _is_as_asked(arguments, len(shown), entries=len(shown)):
        answer.append(f"[{len(shown)} of {len(paths)} files. {_ADVICE}]")
    return _result(answer, is_cut=len(shown) < len(paths), cards=_file_cards(shown, context), files=len(paths))


async def _counts(arguments: GrepArguments, search: _Search, context: ToolContext) -> ToolResult:
    counts: dict[str, int] = {}
    beginning = ""

    def collect(records: list[bytes]) -> bool:
        nonlocal beginning
        # All records are decoded in one call, because there may be a hundred thousand.
        for record in os.fsdecode(b"\n".join(records)).split("\n"):
            name, mark, count = record.rpartition("\0")
            if not mark:  # the first part of a name with a newline
                beginning += f"{record}\n"
                continue
            path, beginning = (beginning + name).removeprefix("./"), ""
            if search.accepts(path):
                counts[path] = int(count)
        return len(counts) < MOST_FILES

    end = await run_ripgrep(search.command, context, separator=b"\n", on_records=collect)
    _require_success(end, has_results=bool(counts))
    first = sorted(counts)[: _most_files(arguments)]
    hidden = await asyncio.to_thread(search.secrets_among, first, context)
    shown = {path: counts[path] for path in first if path not in hidden}
    total, more = sum(counts.values()), len(counts) - len(shown)
    answer = dict(shown)
    if more and not _is_as_asked(arguments, len(shown), entries=len(shown)):
        answer[f"[and {more} more files]"] = total - sum(shown.values())
    cards = [card | {"count": counts[path]} for path, card in zip(shown, _file_cards(shown, context), strict=False)]
    return _result(answer, is_cut=bool(more), cards=cards, total_matches=total, files=len(counts))


def _place(arguments: GrepArguments, context: ToolContext) -> ResolvedPath:
    place = context.boundary.follow(context.boundary.for_reading(arguments.path))
    if not place.absolute.exists():
        raise not_found(arguments.path, place.absolute, context.boundary)
    if not place.absolute.is_file() and not place.absolute.is_dir():  # a pipe would be waited for without end
        raise ToolError(f"{arguments.path} is a device, pipe or socket, which cannot be searched.")
    return place


def _unsaved(place: ResolvedPath, context: ToolContext) -> Path | None:
    """Return a new folder with a copy of the file as the editor shows it; None if nothing is unsaved."""
    if context.texts.editor is None or not place.absolute.is_file() or Path(place.relative).is_absolute():
        return None
    with opened_file(place.absolute.as_posix(), context) as (file, _):
        if os.path.samestat(os.fstat(file.fileno()), place.absolute.stat()):
            return None
        copies = Path(tempfile.mkdtemp())
        copy = copies / place.relative
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read())
        return copies


def _prepare(
    arguments: GrepArguments, place: ResolvedPath, others: list[str], context: ToolContext, copies: Path | None
) -> _Search:
    # An absolute path is answered with absolute paths.
    is_absolute = copies is None and Path(arguments.path).is_absolute()
    where = place.absolute.as_posix() if is_absolute else place.relative
    include = Glob(arguments.include) if arguments.include is not None else None
    accepts = _Filter(where, include if place.absolute.is_dir() else None)
    # Ripgrep searches every file that the command line names, even ignored and binary files.
    named = [
        f"{where}/{path}"
        for path in others[:_MOST_NAMED]
        if accepts(path if where == "." else f"{where}/{path}") and not _is_binary(place.absolute / path)
    ]
    options = _options(arguments, include)
    folder = copies or context.boundary.root
    command = prepare([*options, "--", where, *named], folder=folder, context=context)
    return _Search(command, accepts, where)


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return looks_binary(file.read(HEAD_BYTES))
    except OSError:
        return True


def _options(arguments: GrepArguments, include: Glob | None) -> list[str]:
    before = max(arguments.before, arguments.around, arguments.context_lines)
    after = max(arguments.after, arguments.around, arguments.context_lines)
    options = {
        # ripgrep holds all matches of a file in memory, so their number also needs a limit.
        "content": [
            "--json",
            f"--max-count={MOST_COLLECTED}",
            f"--before-context={before}",
            f"--after-context={after}",
        ],
        "files_with_matches": ["--files-with-matches", "--null"],
        "count": ["--count-matches", "--with-filename", "--null"],
    }[arguments.output_mode]
    if arguments.case_insensitive:
        options.append("--ignore-case")
    if arguments.multiline:
        options += ["--multiline", "--multiline-dotall"]
    if include is not None and include.file_names:
        # A type is applied after the ignore rules; `--glob` would override them and search what git ignores.
        options += [f"--type-add=included:{name}" for name in include.file_names] + ["--type=included"]
    return [*options, "--engine=auto", f"--regexp={arguments.pattern}"]


class _Filter(Struct, frozen=True):
    where: str
    include: Glob | None

    def __call__(self, path: str) -> bool:
        below = path if self.where == "." else path.removeprefix(f"{self.where}/")
        if below == self.where:  # the file that was named
            return True
        if below.startswith(".") or "/." in below or sensitivity(below) is not None:
            return False
        return self.include is None or self.include.matches(below)


def _require_success(end: SearchEnd, *, has_results: bool) -> None:
    if end.exit_code != 2 or end.is_stopped or has_results:
        return
    lines = (line.removeprefix("rg: ") for line in end.errors.splitlines() if line.strip("~ "))
    reason = "\n".join(lines)[:_LONGEST_REASON]
    if "(os error" in reason:
        raise ToolError(f"The search failed: {reason}")
    raise ToolError(f"The pattern is not a valid regular expression: {reason}", error_type="validation")


def _most_files(arguments: GrepArguments) -> int:
    return min(arguments.max_results, arguments.head_limit or arguments.max_results)


def _is_as_asked(arguments: GrepArguments, results: int, *, entries: int) -> bool:
    is_named = "max_results" in arguments.model_fields_set
    return entries == arguments.head_limit or (is_named and results == arguments.max_results)


def _file_cards(paths: Iterable[str], context: ToolContext) -> list[JsonObject]:
    return file_cards([relative_to(context.boundary.root, path) for path in islice(paths, MOST_CARDS)])


def _result(
    answer: list[str] | dict[str, int], *, is_cut: bool, cards: list[JsonObject], **facts: object
) -> ToolResult:
    metadata = {"truncated": is_cut, "matches": cards[:MOST_CARDS]} | facts
    return ToolResult(content=json_text(answer), metadata=metadata)
