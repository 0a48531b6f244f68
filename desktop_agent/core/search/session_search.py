"""The search through all conversations: prompts, answers, commands, output and changes of every session."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import JsonObject, SearchHit, SearchQuery
from desktop_agent.core.search.session_index import (
    SLICE_BYTES,
    FoundPiece,
    PieceReader,
    SearchDatabase,
    SessionQuestion,
    call_id_of,
    folder_tag,
    index_file,
    kind_tag,
    number_of,
    parse_question,
    phrase_expression,
    take_in,
    tool_tag,
    words_of,
)
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.cache_file import CacheFile, not_stopped, transaction
from desktop_agent.core.store.journal.journal_scan import JOURNAL_NAME, journal_states, moment_of
from desktop_agent.core.store.journal.lines import MAX_LINE_BYTES

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
        parts.append(f"tags : {folder_tag(folder)}")
    if query.kind is not None:
        parts.append(f"tags : {kind_tag(query.kind)}")
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
_BLANK = re.compile(r"\s+")


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
