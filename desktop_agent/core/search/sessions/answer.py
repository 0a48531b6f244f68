"""Makes hits of what the index found: reads the lines of the journals that they stand in."""

from collections.abc import Iterator
from pathlib import Path

from desktop_agent.core.protocol.model import JsonObject, SearchHit, SearchQuery
from desktop_agent.core.search.sessions.database import (
    FoundPiece,
    SearchDatabase,
    folder_tag,
    kind_tag,
    number_of,
    tool_tag,
)
from desktop_agent.core.search.sessions.pieces import PieceReader, call_id_of
from desktop_agent.core.search.sessions.question import parse_question, phrase_expression, words_of
from desktop_agent.core.search.sessions.snippet import snippet_of
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_mark import JOURNAL_NAME, moment_of
from desktop_agent.core.store.journal.lines import MAX_LINE_BYTES

_MOST_PER_SESSION = 8
"""One long conversation must not be the whole answer."""
_CANDIDATES_PER_HIT = 8
_FIRST, _LAST = 1, 2**62


class Answerer:
    """Answers one query."""

    def __init__(self, sessions: Path, blobs: Blobs, query: SearchQuery) -> None:
        self._sessions = sessions
        self._blobs = blobs
        self._query = query
        self._question = parse_question(query.text)

    def hits(self, database: SearchDatabase, limit: int) -> list[SearchHit]:
        """Return the newest hits, of one session no more than a few."""
        expression = self._expression(database)
        if not expression:
            return []
        since, until = self._query.since, self._query.until
        first = number_of(since) if since is not None else _FIRST
        last = number_of(until) - 1 if until is not None else _LAST
        found = database.found(expression, first, last, limit * _CANDIDATES_PER_HIT)
        return [hit for item in _spread(found, limit) if (hit := self._hit(item)) is not None]

    def _expression(self, database: SearchDatabase) -> str:
        """Return what FTS5 is asked, nothing when the query has nothing that could be found."""
        query = self._query
        parts: list[str] = []
        if query.text.strip():
            if not self._question.phrases:
                return ""
            parts.append(f"words : ({self._question.expression})")
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

    def _hit(self, found: FoundPiece) -> SearchHit | None:
        """Return what stands at that place now, None when the journal is another one since."""
        fields = self._line(found)
        call_id = call_id_of(fields)
        reader = PieceReader(self._blobs, {call_id: found.call})
        pieces = reader.pieces(fields)
        if found.nth >= len(pieces):
            return None
        piece = pieces[found.nth]
        snippet, marks = snippet_of(piece.text, self._question)
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

    def _line(self, found: FoundPiece) -> JsonObject:
        try:
            with (self._sessions / found.session / JOURNAL_NAME).open("rb") as file:
                file.seek(found.place)
                return PieceReader(self._blobs, {}).fields(file.readline(MAX_LINE_BYTES))
        except OSError:
            return {}


def _spread(found: Iterator[FoundPiece], limit: int) -> Iterator[FoundPiece]:
    """Yield the first `limit` of those that are not too many of one session."""
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
