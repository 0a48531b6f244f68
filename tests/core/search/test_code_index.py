"""Identifiers become words, and any question becomes an expression that FTS5 takes."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.search import code_index as module
from desktop_agent.core.search.code_index import (
    LONGEST_LINE,
    MOST_TERMS,
    SNIPPET_LINES,
    CodeIndex,
    Hit,
    IndexProgress,
    best_lines,
    humps,
    parse_question,
    passages,
)
from desktop_agent.core.search.code_index import SNIPPET_LINE_CHARS as LONGEST_SHOWN

NEVER = threading.Event()


class Project:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.cache = folder / "cache"
        self.read: list[str] = []
        self.index = CodeIndex(self.root, self.cache, is_secret=self._is_secret)

    def write(self, path: str, content: str | bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def paths(self) -> list[str]:
        found = (file.relative_to(self.root).as_posix() for file in self.root.rglob("*") if not file.is_dir())
        return sorted(found)

    def update(
        self, paths: Sequence[str] | None = None, *, is_partial: bool = False, stop: threading.Event = NEVER
    ) -> IndexProgress:
        self.read.clear()
        progress = IndexProgress()
        self.index.update(self.paths() if paths is None else paths, progress, stop, is_partial=is_partial)
        return progress

    def ask(self, text: str, count: int = 10, wanted: Callable[[str], bool] | None = None) -> list[Hit]:
        question = parse_question(text)
        assert question is not None
        return self.index.ask(question, count, wanted, NEVER).hits

    def found(self, text: str) -> list[str]:
        return [hit.path for hit in self.ask(text)]

    @property
    def database(self) -> Path:
        (file,) = self.cache.glob("*.sqlite3")
        return file

    def _is_secret(self, path: str) -> bool:
        self.read.append(path)
        return path.endswith(".pem")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.write("src/session_store.py", "class SessionStore:\n    def resume(self, token):\n        return token\n")
    project.write("src/widget.ts", "export class PaintedWidget {\n  repaint() {\n  }\n}\n")
    project.write("docs/begin.md", "# Begin\nSessions are listed on the left. The widget is small.\n")
    return project


def test_the_best_passage_comes_first(project: Project) -> None:
    """T-35: definitions and paths weigh more than mentions; endings and camelCase do not matter."""
    project.update()
    assert project.found("where are sessions resumed?") == ["src/session_store.py", "docs/begin.md"]
    assert project.found("widgets")[0] == "src/widget.ts"
    assert project.found("painted") == ["src/widget.ts"]
    assert project.found("SessionStore")[0] == "src/session_store.py"
    assert project.found("repain") == ["src/widget.ts"]
    assert project.found("zebra") == []


def test_only_changed_files_are_read_again(project: Project) -> None:
    assert project.update() == IndexProgress(total=3, done=3, is_complete=True)
    assert sorted(project.read) == project.paths()
    project.update()
    assert project.read == []
    project.write("src/widget.ts", "export class Gadget {}\n")
    project.write("new.py", "def fresh(): ...\n")
    project.update()
    assert sorted(project.read) == ["new.py", "src/widget.ts"]
    assert project.found("gadget fresh") == ["new.py", "src/widget.ts"]
    assert project.found("painted") == []


def test_a_file_of_the_same_size_and_time_is_noticed_by_its_inode(project: Project) -> None:
    project.write("a.py", "def uno(): ...\n")
    os.utime(project.root / "a.py", (1, 1))
    project.update()
    project.write("b.py", "def due(): ...\n")
    os.utime(project.root / "b.py", (1, 1))
    (project.root / "b.py").replace(project.root / "a.py")
    project.update()
    assert project.found("due") == ["a.py"]
    assert project.found("uno") == []


def test_deleted_files_are_forgotten_also_when_only_a_part_was_listed(project: Project) -> None:
    project.update()
    (project.root / "docs/begin.md").unlink()
    project.update(["src/widget.ts"], is_partial=True)
    assert project.found("listed left") == []
    assert project.found("resume") == ["src/session_store.py"]
    project.update(["src/widget.ts"])
    assert project.found("resume") == []


def test_texts_of_other_encodings_do_no_harm(project: Project) -> None:
    project.write("latin.txt", "caf\xe9 resumption".encode("latin-1"))
    project.write("mark.txt", b"\xef\xbb\xbfresumption")
    project.update()
    assert sorted(project.found("resumption")) == ["latin.txt", "mark.txt"]


def test_one_file_does_not_fill_the_answer(project: Project) -> None:
    project.write("long.py", "def gadget():\n    pass\n" * 400)
    project.write("other.py", "gadget\n")
    project.update()
    found = project.found("gadget")
    assert found.count("long.py") == 3
    assert "other.py" in found


@pytest.mark.parametrize("damage", [b"", b"not a database at all, but long enough to be looked at" * 100])
def test_a_damaged_index_is_made_anew(project: Project, damage: bytes) -> None:
    project.update()
    project.database.write_bytes(damage)
    assert project.update().is_complete
    assert project.found("resume") == ["src/session_store.py"]


def test_an_index_of_another_format_is_made_anew(project: Project) -> None:
    project.update()
    with sqlite3.connect(project.database) as database:
        database.execute("PRAGMA user_version = 99")
        database.execute("DROP TABLE passage")
    database.close()
    project.update()
    assert len(project.read) == 3
    assert project.found("resume") == ["src/session_store.py"]


def test_a_stopped_update_keeps_what_it_has_and_the_next_one_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH_FILES", 1)
    stop = threading.Event()

    def stop_at_second(path: str) -> bool:
        if path != "docs/begin.md":
            stop.set()
        return False

    index = CodeIndex(project.root, project.cache, is_secret=stop_at_second)
    progress = IndexProgress()
    index.update(project.paths(), progress, stop, is_partial=False)
    assert not progress.is_complete
    project.update()
    assert "docs/begin.md" not in project.read
    assert project.found("resume") == ["src/session_store.py"]


def test_who_waits_for_another_writer_can_be_stopped(project: Project) -> None:
    stop, waiting, entered = threading.Event(), IndexProgress(), threading.Event()
    release = threading.Event()

    def hold(_: str) -> bool:
        entered.set()
        assert release.wait(30)
        return False

    first = threading.Thread(
        target=CodeIndex(project.root, project.cache, is_secret=hold).update,
        args=(project.paths(), IndexProgress(), NEVER),
        kwargs={"is_partial": False},
    )
    first.start()
    assert entered.wait(30)
    second = threading.Thread(
        target=project.index.update, args=(project.paths(), waiting, stop), kwargs={"is_partial": False}
    )
    second.start()
    while not waiting.is_waiting:
        entered.wait(0.01)
    stop.set()
    second.join(30)
    assert not waiting.is_complete
    release.set()
    first.join(30)
    assert project.found("resume") == ["src/session_store.py"]


_UPDATE = """
import sys, threading
from pathlib import Path
from desktop_agent.core.search.code_index import CodeIndex, IndexProgress
root, cache, *paths = sys.argv[1:]
index = CodeIndex(Path(root), Path(cache), is_secret=lambda _: False)
index.update(paths, IndexProgress(), threading.Event(), is_partial=False)
"""


def test_several_processes_share_one_index(project: Project) -> None:
    for number in range(200):
        project.write(f"many/file{number}.py", f"def made_{number}(): ...\n")
    command = [sys.executable, "-c", _UPDATE, str(project.root), str(project.cache), *project.paths()]
    others = [subprocess.Popen(command) for _ in range(2)]
    project.update()
    assert [other.wait(60) for other in others] == [0, 0]
    assert project.found("made_77") == ["many/file77.py"]
    assert len(project.ask("made", 50)) == 50


def test_windows_overlap_and_cover_every_line() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 101))
    found = list(passages("a.txt", text))
    assert [(passage.first, passage.content.count("\n")) for passage in found] == [(1, 50), (41, 50), (81, 20)]
    assert found[1].content.startswith("line 41\n")
    assert found[2].content.endswith("line 100\n")


def test_a_window_knows_what_it_is_part_of_and_what_it_defines() -> None:
    text = "def first():\n" + "    pass\n" * 60 + "def secondThing():\n    aName = 1\n"
    one, two = passages("a.py", text)
    assert one.symbols == ("first",)
    assert two.symbols == ("first", "secondThing")
    assert set(two.words.split()) == {"second", "Thing", "a", "Name"}


def test_odd_texts_are_windows_too() -> None:
    assert list(passages("a.py", "")) == []
    assert [passage.content for passage in passages("a.py", "\r\nx")] == ["\nx\n"]
    (long,) = passages("a.js", "y" * 100_000)
    assert len(long.content) == LONGEST_LINE + 1


def test_the_lines_with_most_words_are_shown_with_the_best_near_the_top() -> None:
    lines = [f"nothing {number}" for number in range(50)]
    lines[5] = "resume"
    lines[30] = "def resume_session(token):"
    start, shown = best_lines("\n".join(lines) + "\n", ("resume", "session", "token"))
    assert start == 28
    assert shown == lines[28 : 28 + SNIPPET_LINES]


def test_inflected_words_count_and_long_lines_are_cut() -> None:
    lines = [""] * 30 + ["x" * 500 + " resume"] + [""] * 9
    start, shown = best_lines("\n".join(lines), ("resumed",))
    assert "x" * LONGEST_SHOWN + "…" in shown
    assert start == len(lines) - 1 - SNIPPET_LINES


def test_a_short_passage_is_shown_whole() -> None:
    assert best_lines("a\nb\n", ("b",)) == (0, ["a", "b"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("readFile", "read File"),
        ("HTTPServer", "HTTP Server"),
        ("a.parseJSON2(x)", "parse JSON 2"),
        ("my_readFile", "read File"),
        ("plain Title UPPER 123 snake_case", ""),
        ("readFile readFile", "read File"),
        ("", ""),
    ],
)
def test_camel_case_is_taken_apart(text: str, words: str) -> None:
    assert humps(text) == words


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("where are sessions resumed?", ("sessions", "resumed")),
        ("AgentRunner", ("agentrunner", "agent", "runner")),
        ("resume_session", ("resume", "session")),
        ("the", ("the",)),
        ("What is this", ("what", "is", "this")),
        ("größe ändern", ("größe", "ändern")),
        ("token TOKEN Token", ("token",)),
    ],
)
def test_a_question_becomes_the_words_that_matter(text: str, terms: tuple[str, ...]) -> None:
    """T-35: stop words are dropped, unless there is nothing else."""
    question = parse_question(text)
    assert question is not None
    assert question.terms == terms


def test_a_very_long_question_is_cut() -> None:
    question = parse_question(" ".join(f"word{number}x" for number in range(1000)))
    assert question is not None
    assert question.expression.count(" OR ") == MOST_TERMS - 1


@given(st.text(max_size=80) | st.text(alphabet="aZ_\"'*()^:-+ ORNEAT{}🙂", max_size=40))
def test_no_question_is_an_error_for_the_engine(text: str) -> None:
    question = parse_question(text)
    if question is None:
        return
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE t USING fts5 (a, tokenize = 'porter unicode61')")
        database.execute("INSERT INTO t VALUES ('some text OR another')")
        database.execute("SELECT rowid, bm25(t) FROM t WHERE t MATCH ?", (question.expression,)).fetchall()
