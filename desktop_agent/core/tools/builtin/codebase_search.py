"""`codebase_search`: the passages of the workspace that best answer a question in words, best first."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field
from pydantic import Field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.globs import Glob
from desktop_agent.core.policy.boundary import ResolvedPath
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.protocol.model import JsonObject, ToolResult
from desktop_agent.core.search.code_index import (
    CodeIndex,
    CodeQuestion,
    CodeSearchResult,
    Hit,
    IndexProgress,
    best_lines,
    parse_question,
)
from desktop_agent.core.store.cache_file import is_damage
from desktop_agent.core.tools.files.file_tool import GlobText, PathText, folder_to_list
from desktop_agent.core.tools.files.listing import list_paths
from desktop_agent.core.tools.files.ripgrep import MOST_CARDS, card
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext, json_text

MOST_WAITED_S = 30.0
"""How many seconds an answer waits for the index. After that it uses what is indexed so far."""

MOST_RETURNED_BYTES = 60_000

SHOWN_EVERY_S = 0.5
_FEW = 200

logger = logging.getLogger(__name__)


class CodebaseSearchArguments(ToolArguments):
    query: str = Field(
        min_length=1,
        max_length=2000,
        description="A question or keywords: where are sessions resumed? Names count most.",
    )
    target_directory: PathText = Field(default=".", description="Search only in this directory of the workspace.")
    glob: GlobText | None = Field(
        default=None, description="Search only files that match, such as *.py, relative to target_directory."
    )
    max_results: int = Field(default=10, ge=1, le=50, description="How many passages to return.")


class _Update(Struct):
    progress: IndexProgress
    stop: threading.Event
    task: "asyncio.Task[None]"


class _Workspace(Struct):
    index: CodeIndex
    update: _Update | None = None
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)


class CodebaseSearch(ReadTool[CodebaseSearchArguments]):
    """Searches by words of a question instead of exact text. The owner of the tool must call `aclose`."""

    name = "codebase_search"
    description = (
        "Find the code that a question in words is about, when its exact text is not known (for exact text, grep is "
        "better). Ranks passages by path, defined names, parts of identifiers and content. Leaves out hidden files, "
        "what .gitignore names, binary and secret files and files over 1 MiB. Returns a JSON array, best first, of "
        "path, start_line, end_line, score, snippet and symbols. A last entry with a note says what was left out."
    )
    capabilities = ("read_fs",)
    arguments_type = CodebaseSearchArguments

    def __init__(
        self, cache_folder: Path, *, is_secret: Callable[[str], bool] = lambda path: sensitivity(path) is not None
    ) -> None:
        """Indexes are in `cache_folder`. A file is never read if `is_secret` is true for its path in the workspace."""
        self._folder = cache_folder / "index"
        self._is_secret = is_secret
        self._workspaces: dict[Path, _Workspace] = {}

    def title(self, arguments: CodebaseSearchArguments) -> str:
        where = arguments.target_directory
        return arguments.query if where == "." else f"{arguments.query} in {where}"

    async def run(self, arguments: CodebaseSearchArguments, context: ToolContext) -> ToolResult:
        question = parse_question(arguments.query)
        if question is None:
            raise ToolError(
                "The query has no words to search for. Ask a question or give names; use grep for punctuation.",
                error_type="validation",
            )
        place = await asyncio.to_thread(folder_to_list, arguments.target_directory, context)
        try:
            try:
                found, progress = await self._search(arguments, question, place, context)
            except (OSError, sqlite3.Error) as error:
                index = self._workspace(context.boundary.root).index
                is_rebuilt = isinstance(error, sqlite3.Error) and is_damage(error)
                if not is_rebuilt and not await asyncio.to_thread(index.use_spare):
                    raise
                found, progress = await self._search(arguments, question, place, context)  # with a new index
        except (OSError, sqlite3.Error) as error:
            raise ToolError(f"The search index could not be used: {error}. Use grep instead.") from error
        return _answer(question, found, progress, arguments.max_results, context.room(MOST_RETURNED_BYTES))

    async def _update(self, context: ToolContext) -> _Update:
        workspace = self._workspace(context.boundary.root)
        async with workspace.starting:
            if workspace.update is not None and not workspace.update.task.done():
                return workspace.update
            listing = await list_paths(context.boundary.root, ".", context)
            progress, stop = IndexProgress(), threading.Event()

            def work() -> None:
                paths = [path for path in listing.paths if not path.startswith(".") and "/." not in path]
                disguised = context.secrets.behind(paths)
                if disguised:
                    paths = [path for path in paths if path not in disguised]
                workspace.index.update(paths, progress, stop, is_partial=listing.is_partial)

            task = asyncio.create_task(_until_stopped(work, stop), name="search index")
            task.add_done_callback(_note_failure)
            workspace.update = _Update(progress, stop, task)
            return workspace.update

    async def aclose(self) -> None:
        updates = [workspace.update for workspace in self._workspaces.values() if workspace.update is not None]
        for update in updates:
            update.stop.set()
        await asyncio.gather(*(update.task for update in updates), return_exceptions=True)

    def _workspace(self, root: Path) -> _Workspace:
        if root not in self._workspaces:
            self._workspaces[root] = _Workspace(CodeIndex(root, self._folder, is_secret=self._is_secret))
        return self._workspaces[root]

    async def _search(
        self, arguments: CodebaseSearchArguments, question: CodeQuestion, place: ResolvedPath, context: ToolContext
    ) -> tuple[CodeSearchResult, IndexProgress]:
        update = await self._update(context)
        await _wait(update, context)
        index, stop = self._workspace(context.boundary.root).index, threading.Event()
        wanted = _scope(place.relative, arguments.glob)
        try:
            found = await asyncio.to_thread(index.ask, question, arguments.max_results, wanted, stop)
        finally:
            stop.set()
        return found, update.progress


def _scope(folder: str, pattern: str | None) -> Callable[[str], bool] | None:
    if folder == "." and pattern is None:
        return None
    prefix = "" if folder == "." else f"{folder}/"
    glob = Glob(pattern) if pattern is not None else None
    return lambda path: path.startswith(prefix) and (glob is None or glob.matches(path[len(prefix) :]))


async def _until_stopped(work: Callable[[], None], stop: threading.Event) -> None:
    try:
        await asyncio.to_thread(work)
    finally:
        stop.set()  # ends the thread when the event loop closes


def _note_failure(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.info("The search index was not updated: %s", error)


async def _wait(update: _Update, context: ToolContext) -> None:
    shown = 0
    for _ in range(round(MOST_WAITED_S / SHOWN_EVERY_S)):
        done, _ = await asyncio.wait({update.task}, timeout=SHOWN_EVERY_S)
        if done:
            break
        progress = update.progress
        if progress.done != shown and progress.total - progress.done > _FEW:
            context.emit_output(f"Indexing: {progress.done:,} of {progress.total:,} files\n")
            shown = progress.done
    if update.task.done():
        update.task.result()


def _answer(
    question: CodeQuestion, found: CodeSearchResult, progress: IndexProgress, count: int, max_bytes: int
) -> ToolResult:
    results: list[JsonObject] = []
    cards: list[JsonObject] = []
    size = 0
    for hit in found.hits:
        result = _result(hit, question)
        size += len(json_text(result).encode("utf-8", "replace"))
        if size > max_bytes:
            break
        results.append(result)
        lines = str(result["snippet"]).split("\n")
        at = next((index for index, line in enumerate(lines) if line.strip()), 0)
        cards.append(card(hit.path, int(str(result["start_line"])) + at, lines[at]))
    notes = _notes(found, progress)
    if len(results) < len(found.hits):
        notes.append(f"only {len(results)} of {len(found.hits)} passages fit in an answer")
    answer: list[JsonObject] = [*results, {"note": f"{'; '.join(notes)}."}] if notes else results
    return ToolResult(
        content=json_text(answer),
        metadata={
            "results": len(results),
            "indexed_files": found.files,
            "truncated": len(results) == count or len(results) < len(found.hits),
            "matches": cards[:MOST_CARDS],
        },
    )


def _notes(found: CodeSearchResult, progress: IndexProgress) -> list[str]:
    notes: list[str] = []
    if not found.hits:
        notes.append("nothing matches; hidden and ignored files are not searched, grep finds exact text there")
    if not progress.is_complete:
        notes.append(
            f"the index is not complete yet ({progress.done:,} of {progress.total:,} files), so better passages may be "
            "missing: search again later, or use grep"
        )
    if found.left_out:
        listed = ", ".join(f"{count} {reason}" for reason, count in found.left_out.items())
        notes.append(f"files not searched: {listed}")
    return notes


def _result(hit: Hit, question: CodeQuestion) -> JsonObject:
    first, lines = best_lines(hit.content, question.terms)
    start = hit.first + first
    return {
        "path": hit.path,
        "start_line": start,
        "end_line": start + len(lines) - 1,
        "score": float(f"{hit.score:.4g}"),
        "snippet": "\n".join(lines),
        "symbols": list(hit.symbols),
    }
