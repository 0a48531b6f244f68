"""The search index of a workspace: for a question in words, it finds the best passages of text files."""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.base.file_names import legible_name, real_name
from desktop_agent.core.base.regex import regex
from desktop_agent.core.search.symbols import definitions
from desktop_agent.core.store.cache_file import CacheFile, is_damage, transaction
from desktop_agent.core.system.files import digest_of

MOST_TERMS = 32
LONGEST_TERM = 64
_SHORTEST_PREFIX = 4

_ONLY_IDENTIFIERS = bytes(sign if chr(sign).isascii() and chr(sign).isalnum() else ord(" ") for sign in range(256))
_PART = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_TERM = regex(r"\w+")

_STOP_WORDS = """
a about all also an and any are as at be been but by can code could did do does done file files find for from
get gets had has have how i if in into is it its let made make me my of on or our should show so some such than
that the their them then there these they this those to up us use used uses using was we were what when where
which who why will with work works would you your"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""`code` and `file` are among these words, because they fit every file."""


def humps(text: str) -> str:
    """The words of all camelCase identifiers, each identifier once: `readFile` gives `read File`."""
    # Methods of bytes are used for speed: a regular expression for identifiers takes four times as long.
    found = set(text.encode("ascii", "replace").translate(_ONLY_IDENTIFIERS).split())
    mixed = [word for word in found if not (word.islower() or word.isupper() or word.istitle() or word.isdigit())]
    return " ".join(_split(word.decode("ascii")) for word in sorted(mixed))


@lru_cache(maxsize=20_000)
def _split(identifier: str) -> str:
    return " ".join(_PART.findall(identifier))


class CodeQuestion(Struct, frozen=True):
    expression: str
    """The expression for `MATCH`. Every term is quoted, so that no character of the question acts as an operator."""
    terms: tuple[str, ...]


def parse_question(text: str) -> CodeQuestion | None:
    """Return a question's terms; None without any. A passage need match only one, but ranks higher with more."""
    found = _TERM.findall(text)[: 4 * MOST_TERMS]
    wanted = [word for word in found if word.lower() not in STOP_WORDS] or found
    terms: dict[str, None] = {}
    for word in wanted:
        for part in (word, *humps(word).split()):
            terms.setdefault(part.lower()[:LONGEST_TERM].strip("_"))
    chosen = [term for term in terms if term][:MOST_TERMS]
    if not chosen:
        return None
    expression = " OR ".join(f'"{term}"{"*" if len(term) >= _SHORTEST_PREFIX else ""}' for term in chosen)
    words = dict.fromkeys(word for term in chosen for word in term.split("_") if word)
    return CodeQuestion(expression, tuple(words))


STEP_LINES = 40
OVERLAP_LINES = 10
"""How many lines neighbouring windows share: a definition of at most this length is whole in one of them."""
LONGEST_LINE = 500


class CodePassage(Struct, frozen=True):
    first: int
    symbols: tuple[str, ...]
    """The symbols that the passage defines. The definition that encloses the passage comes first."""
    words: str
    content: str


def passages(path: str, text: str) -> Iterator[CodePassage]:
    lines = [f"{line[:LONGEST_LINE]}\n" for line in text.replace("\r\n", "\n").split("\n")]
    if lines and lines[-1] == "\n":
        lines.pop()
    named = definitions(path, lines)
    enclosing = ""
    for begin in range(0, len(lines), STEP_LINES):
        end = min(begin + STEP_LINES + OVERLAP_LINES, len(lines))
        inside = [name for line, name in named if begin <= line < end]
        content = "".join(lines[begin:end])
        symbols = tuple(dict.fromkeys([enclosing, *inside] if enclosing else inside))
        yield CodePassage(begin + 1, symbols, humps(content), content)
        before_next = [name for line, name in named if begin <= line < begin + STEP_LINES]
        enclosing = before_next[-1] if before_next else enclosing
        if end == len(lines):
            return


_FORMAT = 2
_SCHEMA = (
    "CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, signature TEXT NOT NULL, left_out TEXT)",
    "CREATE TABLE passage (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, first INTEGER NOT NULL, symbols TEXT)",
    "CREATE INDEX passage_file ON passage (file)",
    """CREATE VIRTUAL TABLE text USING fts5 (
      path, symbols, words, content, tokenize = 'porter unicode61 remove_diacritics 2')""",
)
_WEIGHTS = "bm25(5.0, 8.0, 2.0, 1.0)"
"""Path, symbols, words and content. The name of a passage says more about it than its text."""


class Hit(Struct, frozen=True):
    path: str
    first: int
    symbols: tuple[str, ...]
    content: str
    score: float


def index_file(path: Path) -> CacheFile:
    return CacheFile(path, _FORMAT, _SCHEMA, ("text", "passage", "file"))


class IndexDatabase(Struct, eq=False):
    """The tables of the index. Names are stored in the form for JSON, because SQLite takes only Unicode."""

    sql: sqlite3.Connection

    def signatures(self) -> dict[str, str]:
        return {real_name(name): mark for name, mark in self.sql.execute("SELECT path, signature FROM file")}

    def left_out(self) -> dict[str, int]:
        counts = "SELECT left_out, count(*) FROM file WHERE left_out IS NOT NULL GROUP BY left_out ORDER BY left_out"
        return dict(self.sql.execute(counts))

    def put(self, path: str, signature: str, content: Iterable[CodePassage], left_out: str | None = None) -> None:
        self.remove(path)
        path = legible_name(path)
        self.sql.execute("INSERT INTO file (path, signature, left_out) VALUES (?, ?, ?)", (path, signature, left_out))
        (file,) = self.sql.execute("SELECT last_insert_rowid()").fetchone()
        searchable_path = f"{path} {humps(path)}"
        for passage in content:
            symbols = "\n".join(passage.symbols)
            row = self.sql.execute(
                "INSERT INTO passage (file, first, symbols) VALUES (?, ?, ?)", (file, passage.first, symbols)
            ).lastrowid
            self.sql.execute(
                "INSERT INTO text (rowid, path, symbols, words, content) VALUES (?, ?, ?, ?, ?)",
                (row, searchable_path, f"{symbols} {humps(symbols)}", passage.words, passage.content),
            )

    def remove(self, path: str) -> None:
        row = self.sql.execute("SELECT id FROM file WHERE path = ?", (legible_name(path),)).fetchone()
        if row is not None:
            self.sql.execute("DELETE FROM text WHERE rowid IN (SELECT id FROM passage WHERE file = ?)", row)
            self.sql.execute("DELETE FROM passage WHERE file = ?", row)
            self.sql.execute("DELETE FROM file WHERE id = ?", row)

    def hits(self, expression: str, wanted: Callable[[str], bool] | None) -> Iterator[Hit]:
        scope = ""
        if wanted is not None:
            ids = [(file,) for file, path in self.sql.execute("SELECT id, path FROM file") if wanted(real_name(path))]
            self.sql.execute("CREATE TEMP TABLE scope (file INTEGER PRIMARY KEY)")
            self.sql.execute("BEGIN")
            self.sql.executemany("INSERT INTO scope VALUES (?)", ids)
            self.sql.execute("COMMIT")
            scope = "AND rowid IN (SELECT id FROM passage JOIN scope USING (file))"
        ranked = f"SELECT rowid, rank FROM text WHERE text MATCH ? AND rank MATCH ? {scope} ORDER BY rank"  # noqa: S608
        for rowid, rank in self.sql.execute(ranked, (expression, _WEIGHTS)):
            found = self.sql.execute(
                "SELECT file.path, passage.first, passage.symbols, text.content FROM passage "
                "JOIN file ON file.id = passage.file JOIN text ON text.rowid = passage.id WHERE passage.id = ?",
                (rowid,),
            ).fetchone()
            if found is not None:
                path, first, symbols, content = found
                yield Hit(real_name(path), first, tuple(symbols.split("\n")) if symbols else (), content, -rank)


def signature_of(status: os.stat_result) -> str:
    return f"{status.st_size}.{status.st_mtime_ns}.{status.st_ino}"


LARGEST_BYTES = 1024 * 1024

_BATCH_FILES = 64
"""A stop loses at most these files; another writer waits for at most these."""


class IndexProgress(Struct):
    total: int = 0
    done: int = 0
    is_waiting: bool = False
    is_complete: bool = False

    def note_waiting(self) -> None:
        self.is_waiting = True


class CodeSearchResult(Struct, frozen=True):
    hits: list[Hit] = field(default_factory=list["Hit"])
    files: int = 0
    left_out: dict[str, int] = field(default_factory=dict[str, int])


class CodeIndex:
    """The index of `root`, stored in `folder`. All methods block and may be called from any thread."""

    def __init__(self, root: Path, folder: Path, *, is_secret: Callable[[str], bool]) -> None:
        """Does not access the disk. A file is never read if `is_secret` is true for its path relative to `root`."""
        self._root = root
        self._file = index_file(folder / f"{digest_of(os.fsencode(root))[:32]}.sqlite3")
        self._is_secret = is_secret

    def update(self, paths: Sequence[str], progress: IndexProgress, stop: threading.Event, *, is_partial: bool) -> None:
        """`paths` are all files unless `is_partial`. Raises `OSError` or `sqlite3.Error`."""
        progress.total = len(paths)

        def write(index: CacheFile) -> bool:
            progress.done, progress.is_waiting = 0, False
            self._update(index, paths, progress, stop, is_partial)
            return False

        self._file = self._file.update(write, stop.is_set, progress.note_waiting)

    def use_spare(self) -> bool:
        """Continue in a spare place. False if there is none, or the index is already in it."""
        spare = self._file.spare()
        self._file = spare or self._file
        return spare is not None

    def ask(
        self, question: CodeQuestion, count: int, wanted: Callable[[str], bool] | None, stop: threading.Event
    ) -> CodeSearchResult:
        """Return the best passages, at most 3 of a file. Raises `sqlite3.Error`; deletes a damaged index."""
        try:
            with self._file.opened_to_read(stop.is_set) as connection:
                if connection is None:
                    return CodeSearchResult()
                database = IndexDatabase(connection)
                chosen = _distinct(database.hits(question.expression, wanted), count)
                (files,) = connection.execute("SELECT count(*) FROM file").fetchone()
                return CodeSearchResult(chosen, files, database.left_out())
        except sqlite3.Error as error:
            if is_damage(error):
                with self._file.writing(stop.is_set) as may_write:
                    if may_write:
                        self._file.discard()
            raise

    def _update(
        self, index: CacheFile, paths: Sequence[str], progress: IndexProgress, stop: threading.Event, is_partial: bool
    ) -> None:
        with closing(index.connect(stop.is_set)) as connection:
            database = IndexDatabase(connection)
            known = database.signatures()
            gone = known.keys() - set(paths)
            if is_partial:
                gone = {path for path in gone if not (self._root / path).exists()}
            found: dict[str, os.stat_result | None] = {}
            for path in (*sorted(gone), *paths):
                if stop.is_set():
                    break
                status = None if path in gone else self._status(path)
                if status is not None and known.get(path) == signature_of(status):
                    progress.done += 1
                elif status is not None or path in known:
                    found[path] = status
                if len(found) == _BATCH_FILES:
                    self._take_in(database, found, progress)
                    found.clear()
            self._take_in(database, found, progress)
        progress.is_complete = not stop.is_set()

    def _take_in(
        self, database: IndexDatabase, found: dict[str, os.stat_result | None], progress: IndexProgress
    ) -> None:
        if not found:
            return
        with transaction(database.sql):
            for path, status in found.items():
                if status is None:
                    database.remove(path)
                    continue
                reason, text = self._text_of(path, status)
                content = passages(path, text) if reason is None else ()
                database.put(path, signature_of(status), content, reason)
                progress.done += 1

    def _text_of(self, path: str, status: os.stat_result) -> tuple[str | None, str]:
        if self._is_secret(path):
            return "secret", ""
        if status.st_size > LARGEST_BYTES:
            return "larger than 1 MiB", ""
        try:
            with (self._root / path).open("rb") as file:
                content = file.read(LARGEST_BYTES)
        except OSError:
            return "unreadable", ""
        if b"\0" in content[:8192]:
            return "binary", ""
        return None, content.decode("utf-8-sig", "replace")

    def _status(self, path: str) -> os.stat_result | None:
        try:
            status = os.lstat(f"{self._root}/{path}")
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) else None


_MOST_PER_FILE = 3


def _distinct(hits: Iterable[Hit], count: int) -> list[Hit]:
    chosen: list[Hit] = []
    places: dict[str, list[int]] = {}
    for hit in hits:
        taken = places.setdefault(hit.path, [])
        if len(taken) >= _MOST_PER_FILE or any(abs(hit.first - first) <= STEP_LINES for first in taken):
            continue
        taken.append(hit.first)
        chosen.append(hit)
        if len(chosen) == count:
            break
    return chosen


SNIPPET_LINES = 16
SNIPPET_LINE_CHARS = 200

_LEAD = 2
_SHORTEST_STEM = 4
_ENDING = 3


def best_lines(content: str, terms: Sequence[str]) -> tuple[int, list[str]]:
    """The lines with the most `terms` (lower case), and the index of the first. Different words count for more."""
    lines = content.removesuffix("\n").split("\n")
    last_start = len(lines) - SNIPPET_LINES
    if last_start <= 0:
        return 0, _snippet_lines(lines)
    stems = [term[: max(_SHORTEST_STEM, len(term) - _ENDING)] for term in terms]
    present = [[stem for stem in stems if stem in line] for line in map(str.lower, lines)]
    values = [_weight(present[start : start + SNIPPET_LINES]) for start in range(last_start + 1)]
    start = values.index(max(values))
    key_line = max(range(start, start + SNIPPET_LINES), key=lambda line: sum(map(len, present[line])))
    start = max(start, min(key_line - _LEAD, last_start))
    return start, _snippet_lines(lines[start : start + SNIPPET_LINES])


def _weight(window: Sequence[Sequence[str]]) -> tuple[int, int]:
    return sum(map(len, {stem for stems in window for stem in stems})), sum(map(bool, window))


def _snippet_lines(lines: list[str]) -> list[str]:
    return [line if len(line) <= SNIPPET_LINE_CHARS else f"{line[:SNIPPET_LINE_CHARS]}…" for line in lines]
