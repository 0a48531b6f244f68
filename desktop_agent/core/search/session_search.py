"""The search through all conversations: prompts, answers, commands, output and changes of every session.

The index is one SQLite database in the cache, which does not contain the text of conversations. A piece's number is its
time in milliseconds, so FTS5 returns the newest first without sorting.
"""

import json
import os
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.codec import object_in, objects_in, text_in
from desktop_agent.core.protocol.events import IMPORTED_WORDS
from desktop_agent.core.protocol.model import HitKind, JsonObject, SearchHit, SearchQuery
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.cache_file import CacheFile, not_stopped, transaction
from desktop_agent.core.store.journal.journal_reader import internalise
from desktop_agent.core.store.journal.journal_scan import (
    JOURNAL_NAME,
    JournalMark,
    State,
    fields_of,
    goes_on,
    journal_states,
    mark_at,
    moment_of,
    open_journal,
    state_of,
    whole_lines,
)
from desktop_agent.core.store.journal.lines import MAX_LINE_BYTES
from desktop_agent.core.terminal.printout import plain_text

_QUOTED_OR_NOT = regex(r'"([^"]*)("?)|([^\s"]+)')
_WORD = regex(r"[^\W_]+")
_MOST_CHARS = 2_000
_MOST_PHRASES = 16
_MOST_WORDS = 64
SHORTEST_BEGINNING = 4
"""How many letters a word needs to match as a prefix. With fewer, most words would match others, too."""


class SessionQuestion(NamedTuple):
    """All phrases must match. A phrase is adjacent words in lower case."""

    phrases: tuple[tuple[str, ...], ...]
    is_open: bool = False

    @property
    def expression(self) -> str:
        """The expression for `MATCH`. Every word is quoted, so that no word acts as an operator."""
        parts = list(map(phrase_expression, self.phrases))
        if parts and self.is_open:
            parts[-1] += " *"
        return " AND ".join(parts)


def parse_question(text: str) -> SessionQuestion:
    phrases: list[tuple[str, ...]] = []
    is_open = False
    text = unicodedata.normalize("NFC", text[:_MOST_CHARS])
    for match in _QUOTED_OR_NOT.finditer(text):
        quoted, closing, bare = match.groups()
        words = words_of(quoted if bare is None else bare)
        if words:
            phrases.append(words[:_MOST_WORDS])
            ends_in_word = text[: match.end()].rstrip('"')[-1:].isalnum()
            is_open = match.end() == len(text.rstrip()) and not closing and ends_in_word
    is_open = is_open and text == text.rstrip() and len(phrases[-1][-1]) >= SHORTEST_BEGINNING
    return SessionQuestion(tuple(phrases[-_MOST_PHRASES:]), is_open)


def words_of(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(text))


def phrase_expression(words: Sequence[str]) -> str:
    return f'"{" ".join(words)}"'


COMMAND_TOOL, PLAN_TOOL = "run_terminal_cmd", "write_plan"
_HEAD_CHARS = 16_000
_TAIL_CHARS = 8_000
_LARGEST_OUTPUT = 256 * 1024
_LARGEST_FILE = 512 * 1024
"""Of a change with larger sides, only the path is searchable."""
_TYPES_WITH_PIECES = (
    b'"type":"session_opened"', b'"type":"prompt_submitted"', b'"type":"steered"', b'"type":"message_done"',
    b'"type":"tool_call_started"', b'"type":"tool_call_finished"', b'"type":"approval_resolved"',
    b'"type":"changes_recorded"', b'"type":"session_renamed"', b'"type":"command_run"', b'"type":"notice"',
    b'"type":"plan_edited"', b'"type":"agent_session_opened"',
)  # fmt: skip


class SessionPiece(NamedTuple):
    kind: HitKind
    text: str
    tool: str = ""
    file: str = ""


class UnansweredCall(NamedTuple):
    tool: str
    title: str
    file: str


class PieceReader:
    """Reads one journal from front to back, and tracks the calls that have no result yet."""

    def __init__(self, blobs: Blobs, calls: dict[str, UnansweredCall]) -> None:
        """`calls` are the calls without a result before the first line, by id."""
        self._blobs = blobs
        self.calls = calls

    def fields(self, line: bytes) -> JsonObject:
        """Return the fields of a line, with texts from blobs; empty for a line without searchable pieces."""
        if line.startswith(b'{"v":') and not any(kind in line[:140] for kind in _TYPES_WITH_PIECES):
            return {}
        try:
            return internalise(fields_of(line), self._blobs)[0]
        except (ValueError, RecursionError, StorageError):
            return {}

    def pieces(self, fields: JsonObject) -> list[SessionPiece]:
        return [piece for piece in self._pieces(fields) if piece.text.strip()]

    def _pieces(self, fields: JsonObject) -> Iterator[SessionPiece]:  # noqa: C901 - one closed vocabulary
        match fields.get("type"):
            case "prompt_submitted" | "steered" | "plan_edited":
                yield SessionPiece("prompt", _cut(text_in(fields, "text")))
            case "notice" if fields.get("code") == IMPORTED_WORDS:
                yield SessionPiece("prompt", _cut(text_in(fields, "detail")))
            case "agent_session_opened":
                for said in objects_in(fields, "said"):
                    yield SessionPiece("prompt", _cut(text_in(said, "prompt")))
                    yield SessionPiece("reply", _cut(text_in(said, "answer")))
            case "session_renamed":
                yield SessionPiece("title", _cut(text_in(fields, "title")))
            case "command_run":
                yield SessionPiece("command", _cut(f"{text_in(fields, 'text')}\n{text_in(fields, 'output')}"))
            case "message_done":
                texts = (
                    text_in(block, "text") for block in objects_in(fields, "content") if block.get("type") == "text"
                )
                yield SessionPiece("reply", _cut("\n\n".join(texts)))
            case "tool_call_started":
                yield from self._started(object_in(fields, "call"), text_in(fields, "title"))
            case "approval_resolved":
                yield SessionPiece(
                    "command", _cut(text_in(object_in(fields, "decision"), "edited_command")), COMMAND_TOOL
                )
            case "tool_call_finished":
                yield self._finished(text_in(fields, "call_id"), object_in(fields, "result"))
            case "changes_recorded":
                call = self.calls.get(text_in(fields, "call_id"))
                for change in objects_in(fields, "changes"):
                    yield SessionPiece(
                        "change", self._change(change), call.tool if call else "", text_in(change, "path")
                    )
            case _:
                pass

    def _started(self, call: JsonObject, title: str) -> Iterator[SessionPiece]:
        tool, arguments = text_in(call, "name"), object_in(call, "arguments")
        file = next((value for key in ("path", "file_path", "file") if (value := text_in(arguments, key))), "")
        if call_id := text_in(call, "id"):
            self.calls[call_id] = UnansweredCall(tool, "" if tool == COMMAND_TOOL else title, file)
        if tool == COMMAND_TOOL:
            yield SessionPiece("command", _cut(text_in(arguments, "command")), tool)
        if tool == PLAN_TOOL:
            yield SessionPiece("reply", _cut(text_in(arguments, "plan")), tool)

    def _finished(self, call_id: str, result: JsonObject) -> SessionPiece:
        call = self.calls.pop(call_id, UnansweredCall("", "", ""))
        content = self._whole_output(object_in(result, "output")) or text_in(result, "content")
        file = call.file or text_in(object_in(result, "metadata"), "path")
        return SessionPiece("output", f"{call.title}\n{_cut(content)}".lstrip(), call.tool, file)

    def _whole_output(self, reference: JsonObject) -> str:
        size = reference.get("size")
        if not isinstance(size, int) or size > _LARGEST_OUTPUT:
            return ""
        try:
            return plain_text(self._blobs.get(text_in(reference, "blob"), size=size).decode("utf-8", "replace"))
        except StorageError:
            return ""

    def _change(self, change: JsonObject) -> str:
        moved = text_in(change, "moved_from") or text_in(change, "moved_to")
        before, after = self._lines(object_in(change, "before")), self._lines(object_in(change, "after"))
        gone, come = Counter(before) - Counter(after), Counter(after) - Counter(before)
        lines = [f"-{line}" for line in before if line in gone] + [f"+{line}" for line in after if line in come]
        return "\n".join(filter(None, (text_in(change, "path"), moved, _cut("\n".join(lines)))))

    def _lines(self, image: JsonObject) -> list[str]:
        size = image.get("size")
        if image.get("kind", "file") != "file" or not isinstance(size, int) or size > _LARGEST_FILE:
            return []
        try:
            content = self._blobs.get(text_in(image, "digest"), size=size)
        except StorageError:
            return []
        return [] if b"\0" in content[:8192] else content.decode("utf-8", "replace").splitlines()


def call_id_of(fields: JsonObject) -> str:
    return text_in(fields, "call_id") or text_in(object_in(fields, "call"), "id")


def _cut(text: str) -> str:
    return text if len(text) <= _HEAD_CHARS + _TAIL_CHARS else f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"


_VERSION = 4
_SCHEMA = (
    """CREATE TABLE session (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
      read_bytes INTEGER NOT NULL, witness BLOB NOT NULL, workspace TEXT NOT NULL, calls TEXT NOT NULL)""",
    """CREATE TABLE piece (
      id INTEGER PRIMARY KEY, session INTEGER NOT NULL, place INTEGER NOT NULL, nth INTEGER NOT NULL, tool TEXT,
      title TEXT, file TEXT)""",
    "CREATE TABLE folder (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE)",
    """CREATE VIRTUAL TABLE text USING fts5 (
      words, file, tags, content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2')""",
    "INSERT INTO text (text, rank) VALUES ('hashsize', 8000000)",
)
_GONE = 0
_LATEST = 2**50


class IndexedJournal(NamedTuple):
    id: int
    mark: JournalMark
    workspace: str
    calls: dict[str, UnansweredCall]


class FoundPiece(NamedTuple):
    session: SessionId
    place: int
    nth: int
    call: UnansweredCall


def index_file(folder: Path) -> CacheFile:
    return CacheFile(folder / "session-search.sqlite3", _VERSION, _SCHEMA, ("text", "folder", "piece", "session"))


def number_of(moment: datetime) -> int:
    """The lowest number that a piece with this time can have."""
    return max(1, min(_LATEST, int(moment.astimezone(UTC).timestamp() * 1000)))


class SearchDatabase(Struct, eq=False):
    _sql: sqlite3.Connection

    def states(self) -> dict[SessionId, tuple[State, int]]:
        rows = self._sql.execute("SELECT name, size, mtime_ns, read_bytes FROM session")
        return {name: ((size, mtime_ns), read_bytes) for name, size, mtime_ns, read_bytes in rows}

    def session(self, name: SessionId) -> IndexedJournal | None:
        row = self._sql.execute(
            "SELECT id, size, mtime_ns, read_bytes, witness, workspace, calls FROM session WHERE name = ?", (name,)
        ).fetchone()
        if row is None:
            return None
        number, size, mtime_ns, read_bytes, witness, workspace, calls = row
        open_calls = {key: UnansweredCall(*call) for key, call in json.loads(calls).items()}
        return IndexedJournal(number, JournalMark((size, mtime_ns), read_bytes, witness), workspace, open_calls)

    def is_worn(self, most_gone: int) -> bool:
        (gone,) = self._sql.execute("SELECT count(*) FROM piece WHERE session = ?", (_GONE,)).fetchone()
        (all_,) = self._sql.execute("SELECT count(*) FROM piece").fetchone()
        return gone > max(most_gone, all_ - gone)

    def begin(self, name: SessionId) -> int:
        new = "INSERT INTO session (name, size, mtime_ns, read_bytes, witness, workspace, calls)"
        return self._sql.execute(f"{new} VALUES (?, 0, 0, 0, x'', '', '{{}}')", (name,)).lastrowid or 0

    def keep(self, known: IndexedJournal) -> None:
        mark = known.mark
        self._sql.execute(
            "UPDATE session SET size = ?, mtime_ns = ?, read_bytes = ?, witness = ?, workspace = ?, calls = ? "
            "WHERE id = ?",
            (*mark.state, mark.read_bytes, mark.witness, known.workspace, json.dumps(known.calls), known.id),
        )

    def forget(self, name: SessionId) -> None:
        self._sql.execute(
            "UPDATE piece SET session = ? WHERE session = (SELECT id FROM session WHERE name = ?)", (_GONE, name)
        )
        self._sql.execute("DELETE FROM session WHERE name = ?", (name,))

    def folder(self, path: str) -> int:
        self._sql.execute("INSERT OR IGNORE INTO folder (path) VALUES (?)", (path,))
        (number,) = self._sql.execute("SELECT id FROM folder WHERE path = ?", (path,)).fetchone()
        return number

    def add(self, session: int, wanted: int, at: tuple[int, int], piece: SessionPiece, title: str, folder: int) -> int:
        """Return the first free number from `wanted` on. `at`: position in the journal, and index in that line."""
        number = wanted
        row = (session, *at, *(storable(text) or None for text in (piece.tool, title, piece.file)))
        while not self._sql.execute(
            "INSERT OR IGNORE INTO piece VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *row)
        ).rowcount:
            number += 1
        tags = f"kind{piece.kind} {tool_tag(piece.tool)} folder{folder}"
        self._sql.execute(
            "INSERT INTO text (rowid, words, file, tags) VALUES (?, ?, ?, ?)",
            (number, storable(piece.text), storable(piece.file), tags),
        )
        return number

    def tidy(self) -> None:
        self._sql.execute("INSERT INTO text (text, rank) VALUES ('merge', 2000)")
        self._sql.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def settle(self) -> None:
        """Optimise the database. Slow, so use it after a rebuild."""
        self._sql.execute("INSERT INTO text (text) VALUES ('optimize')")
        self._sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def folder_known(self, path: str) -> int | None:
        row = self._sql.execute("SELECT id FROM folder WHERE path = ?", (storable(path),)).fetchone()
        return row[0] if row else None

    def found(self, expression: str, first: int, last: int, limit: int) -> Iterator[FoundPiece]:
        """The newest matching pieces whose number is between `first` and `last`."""
        numbers = self._sql.execute(
            "SELECT rowid FROM text WHERE text MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?",
            (expression, first, last, limit),
        ).fetchall()
        for (number,) in numbers:
            row = self._sql.execute(
                "SELECT session.name, place, nth, tool, title, file FROM piece "
                "JOIN session ON session.id = piece.session WHERE piece.id = ?",
                (number,),
            ).fetchone()
            if row is not None:
                name, place, nth, tool, title, file = row
                yield FoundPiece(name, place, nth, UnansweredCall(tool or "", title or "", file or ""))


def storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def tool_tag(tool: str) -> str:
    return f"tool{''.join(words_of(tool))}" if tool else ""


SLICE_BYTES = 4 * 1024 * 1024
"""How many bytes of a journal are indexed in one transaction. A stop loses at most these."""

_NOTHING_YET = JournalMark((0, 0))
_CUT = (-1, 0)
"""The state stored for a journal that is indexed in part. It equals no file's state, so the rest is still due."""


def take_in(database: SearchDatabase, sessions: Path, session_id: SessionId, blobs: Blobs) -> bool:
    """Index the next part of a session's journal. Return whether it was the last. Call this in a transaction."""
    try:
        with open_journal(sessions / session_id / JOURNAL_NAME) as file:
            known = database.session(session_id)
            if known is not None and not goes_on(file, known.mark):
                database.forget(session_id)
                known = None
            known = known or IndexedJournal(database.begin(session_id), _NOTHING_YET, "", {})
            state = state_of(os.fstat(file.fileno()))
            reader, workspace, folder = (
                PieceReader(blobs, known.calls),
                known.workspace,
                database.folder(known.workspace),
            )
            start = place = known.mark.read_bytes
            for begin, place, line in whole_lines(file, start):
                fields = reader.fields(line)
                if fields.get("type") == "session_opened":
                    workspace = storable(str(fields.get("workspace", "")))
                    folder = database.folder(workspace)
                call = reader.calls.get(call_id_of(fields), UnansweredCall("", "", ""))
                number = number_of(moment_of(fields.get("at")))
                for nth, piece in enumerate(reader.pieces(fields)):
                    number = database.add(known.id, number, (begin, nth), piece, call.title, folder) + 1
                if place - start >= SLICE_BYTES:
                    state = _CUT
                    break
            database.keep(IndexedJournal(known.id, mark_at(file, state, place), workspace, reader.calls))
            return state != _CUT
    except OSError:  # deleted meanwhile, or not for us to read
        return True


_MOST_GONE = 50_000
"""The index is rebuilt when more pieces than this, and more than half of all, belong to deleted sessions."""


class SessionSearch:
    """Indexes and searches all sessions. All methods block and may be called from any thread."""

    def __init__(self, sessions: Path, blobs: Blobs, cache: Path) -> None:
        """Does not access the disk. `cache` is the folder for data that can be rebuilt."""
        self._sessions = sessions
        self._blobs = blobs
        self._file = index_file(cache)

    @property
    def is_current(self) -> bool:
        try:
            states = journal_states(self._sessions)
            with self._file.newest().opened_to_read() as connection:
                known = SearchDatabase(connection).states() if connection else {}
        except (sqlite3.Error, OSError, StorageError):
            return False
        return {name: state for name, (state, _) in known.items()} == states

    def update(self, is_stopped: Callable[[], bool] = not_stopped) -> None:
        """Index new lines, the newest sessions first; in a spare place, if necessary. Raises `StorageError`."""
        try:
            if self._file.update(partial(self._update, is_stopped), is_stopped) is self._file:
                self._file.discard_spare()
        except (sqlite3.Error, OSError) as error:
            if not is_stopped():
                raise StorageError(
                    "The search could not take in what is new.",
                    hint="Free some disk space, or check the permissions of the cache folder.",
                    detail=str(error),
                ) from error

    def _update(self, is_stopped: Callable[[], bool], file: CacheFile) -> bool:
        """Return whether too many pieces of the index belong to deleted sessions."""
        states = journal_states(self._sessions)
        with closing(file.connect(is_stopped)) as connection:
            database = SearchDatabase(connection)
            known = database.states()
            gone = known.keys() - states.keys()
            with transaction(connection):
                for name in gone:
                    database.forget(name)
            new_bytes = {
                name: max(1, state[0] - known[name][1] if name in known else state[0])
                for name, state in states.items()
                if name not in known or known[name][0] != state
            }
            for batch in _batches(new_bytes):
                pending = batch
                while pending and not is_stopped():
                    with transaction(connection):
                        pending = [name for name in pending if not take_in(database, self._sessions, name, self._blobs)]
            if is_stopped():
                return False
            if new_bytes:
                database.tidy() if known else database.settle()
            return bool(gone) and database.is_worn(_MOST_GONE)

    def ask(self, query: SearchQuery, limit: int = 50, is_stopped: Callable[[], bool] = not_stopped) -> list[SearchHit]:
        """Return hits, newest first; none if there is no index, or a damaged one is being rebuilt."""
        try:
            with self._file.newest().opened_to_read(is_stopped) as connection:
                return self.answer(SearchDatabase(connection), query, limit) if connection else []
        except (sqlite3.Error, OSError):
            return []

    def answer(self, database: SearchDatabase, query: SearchQuery, limit: int) -> list[SearchHit]:
        question = parse_question(query.text)
        expression = _expression(database, query, question)
        if not expression:
            return []
        first = number_of(query.since) if query.since is not None else _FIRST
        last = number_of(query.until) - 1 if query.until is not None else _LAST
        found = database.found(expression, first, last, limit * _CANDIDATES_PER_HIT)
        return [hit for item in _spread(found, limit) if (hit := self._hit(item, question)) is not None]

    def _hit(self, found: FoundPiece, question: SessionQuestion) -> SearchHit | None:
        reader = PieceReader(self._blobs, {})
        try:
            with (self._sessions / found.session / JOURNAL_NAME).open("rb") as file:
                file.seek(found.place)
                fields = reader.fields(file.readline(MAX_LINE_BYTES))
        except OSError:
            fields = {}
        call_id = call_id_of(fields)
        reader.calls[call_id] = found.call
        pieces = reader.pieces(fields)
        if found.nth >= len(pieces):
            return None
        piece = pieces[found.nth]
        snippet, marks = snippet_of(piece.text, question)
        return SearchHit(
            session_id=found.session,
            seq=_number(fields, "seq"),
            turn=_number(fields, "turn"),
            call_id=call_id,
            kind=piece.kind,
            at=moment_of(fields.get("at")),
            snippet=snippet,
            marks=marks,
            tool=found.call.tool,
            file=found.call.file,
        )


def _batches(new_bytes: Mapping[SessionId, int]) -> Iterator[Sequence[SessionId]]:
    """Yield groups of sessions, newest first. Each begins with its oldest, so the index grows at its end."""
    batch: list[SessionId] = []
    size = 0
    for name in sorted(new_bytes, reverse=True):
        batch.append(name)
        size += new_bytes[name]
        if size >= SLICE_BYTES:
            yield batch[::-1]
            batch, size = [], 0
    if batch:
        yield batch[::-1]


_MOST_PER_SESSION = 8
_CANDIDATES_PER_HIT = 8
_FIRST, _LAST = 1, 2**62


def _expression(database: SearchDatabase, query: SearchQuery, question: SessionQuestion) -> str:
    parts: list[str] = []
    if query.text.strip():
        if not question.phrases:
            return ""
        parts.append(f"words : ({question.expression})")
    if query.file.strip():
        if not (words := words_of(query.file)):
            return ""
        parts.append(f"file : {phrase_expression(words)} *")
    if query.workspace:
        folder = database.folder_known(query.workspace)
        if folder is None:
            return ""
        parts.append(f"tags : folder{folder}")
    if query.kind is not None:
        parts.append(f"tags : kind{query.kind}")
    if query.tool.strip():
        if not (tag := tool_tag(query.tool)):
            return ""
        parts.append(f'tags : "{tag}"')
    return " AND ".join(parts)


def _spread(found: Iterator[FoundPiece], limit: int) -> Iterator[FoundPiece]:
    taken: dict[str, int] = {}
    count = 0
    for item in found:
        taken[item.session] = taken.get(item.session, 0) + 1
        if taken[item.session] <= _MOST_PER_SESSION:
            yield item
            count += 1
            if count == limit:
                return


def _number(fields: JsonObject, key: str) -> int:
    value = fields.get(key)
    return value if isinstance(value, int) else 0


_BEFORE = 48
_AFTER = 132
_BLANK = regex(r"\s+")


def snippet_of(text: str, question: SessionQuestion) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The line with the first match, and all matches in it; the text's beginning if only accents differ."""
    pattern = _pattern(question)
    first = pattern.search(text) if pattern is not None else None
    at = first.start() if first is not None else 0
    begin = max(text.rfind("\n", 0, at) + 1, at - _BEFORE)
    end = min(len(text), begin + _BEFORE + _AFTER)
    if begin and text[begin - 1] != "\n" and (blank := text.find(" ", begin, at)) >= 0:
        begin = blank + 1
    is_cut_before = bool(text[:begin].strip())
    shown = _BLANK.sub(" ", text[begin:end]).strip()
    shown = f"{'… ' if is_cut_before else ''}{shown}{' …' if text[end:].strip() else ''}"
    shown = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in shown)
    marks = tuple(match.span() for match in pattern.finditer(shown)) if pattern is not None else ()
    return shown, marks


@lru_cache(maxsize=8)
def _pattern(question: SessionQuestion) -> re.Pattern[str] | None:
    parts: list[str] = []
    for number, phrase in enumerate(question.phrases):
        is_open = question.is_open and number == len(question.phrases) - 1
        words = r"[\W_]+".join(map(re.escape, phrase))
        parts.append(rf"(?<![^\W_]){words}" + (r"[^\W_]*" if is_open else r"(?![^\W_])"))
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None
