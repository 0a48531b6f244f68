from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from desktop_agent.ui.review.diff.highlighter import (
    CHUNK_LINES,
    Coloured,
    Highlighter,
)
from desktop_agent.ui.widgets.text_colours import MAX_COLOURED_CHARS, LineSpans, lexer_for_path, spans_by_line


def coloured(path: str, lines: list[str], *, skip: int = 0) -> dict[int, LineSpans]:
    lexer = lexer_for_path(path)
    assert lexer
    *_, found = spans_by_line(lexer, lines, skip=skip)
    return found


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/app.py", "Python"),
        ("a/b.TS", "TypeScript"),
        ("Makefile", "Makefile"),
        ("deploy/Dockerfile", "Docker"),
        ("query.sql", "SQL"),
        ("tool.pl", "Perl"),
        ("include/a.h", "C"),
        *((path, None) for path in ("notes.txt", "data.unheard-of", "LICENSE", "")),
    ],
)
def test_the_language_is_known_by_the_name_and_plain_text_has_none(path: str, name: str | None) -> None:
    assert getattr(lexer_for_path(path), "name", None) == name


def test_words_get_the_colour_of_their_role() -> None:
    line = "def total(n): return n + 1  # sum"
    spans = coloured("a.py", [line + "\r\n"])[0]
    assert [(line[start:end], role) for start, end, role in spans] == [
        ("def", "syntax_keyword"),
        ("total", "syntax_function"),
        ("return", "syntax_keyword"),
        ("1", "syntax_number"),
        ("# sum", "syntax_comment"),
    ]


def test_a_string_over_several_lines_colours_each_of_them() -> None:
    found = coloured("a.py", ['x = """one\n', "two\n", 'three"""\n', "y = 1\n"], skip=1)
    assert sorted(found) == [1, 2, 3]
    assert found[1][0][:2] == (0, 3)
    assert {role for line in (1, 2) for _, _, role in found[line]} == {"syntax_string"}
    assert [role for _, _, role in found[3]] == ["syntax_number"]


def test_an_endless_line_is_left_plain_and_disturbs_no_other() -> None:
    found = coloured("a.js", ["var a = '" + "x" * MAX_COLOURED_CHARS + "';\n", "var b = 1;\n"])
    assert found[0] == ()
    assert found[1]


CODE = tuple(f"value_{number} = {number}\n" for number in range(1_000))


@pytest.fixture
def owner() -> Iterator[QObject]:
    owner = QObject()
    yield owner
    owner.deleteLater()


@pytest.fixture
def highlighter(owner: QObject) -> Highlighter:
    highlighter = Highlighter(owner)
    highlighter.set_text("a.py", (), CODE)
    return highlighter


def test_the_lines_that_were_asked_for_get_colours_until_there_is_another_file(
    qtbot: QtBot, highlighter: Highlighter
) -> None:
    found: list[Coloured] = []
    highlighter.changed.connect(found.append)
    assert highlighter.spans("new", CHUNK_LINES) == ()
    with qtbot.waitSignal(highlighter.changed):
        highlighter.request("new", range(CHUNK_LINES, CHUNK_LINES + 10))
    assert found == [Coloured("new", range(CHUNK_LINES, 2 * CHUNK_LINES))]
    assert [role for _, _, role in highlighter.spans("new", CHUNK_LINES)] == ["syntax_number"]
    assert highlighter.spans("new", 4 * CHUNK_LINES) == ()
    assert highlighter.spans("old", CHUNK_LINES) == ()
    highlighter.set_text("b.py", (), CODE)
    assert highlighter.spans("new", CHUNK_LINES) == ()


def test_both_sides_get_their_own_colours(qtbot: QtBot, highlighter: Highlighter) -> None:
    highlighter.set_text("a.py", ("x = 'a'\n",), ("x = 2\n",))
    highlighter.request("old", range(1))
    highlighter.request("new", range(1))
    qtbot.waitUntil(lambda: bool(highlighter.spans("old", 0) and highlighter.spans("new", 0)))
    assert highlighter.spans("old", 0)[0][2] == "syntax_string"
    assert highlighter.spans("new", 0)[0][2] == "syntax_number"


def test_what_was_scrolled_by_is_not_worked_on(qtbot: QtBot, highlighter: Highlighter) -> None:
    highlighter.request("new", range(900, 910))
    highlighter.forget_requests()
    with qtbot.waitSignal(highlighter.changed):
        highlighter.request("new", range(10))
    assert highlighter.spans("new", 0)
    assert highlighter.spans("new", 900) == ()


def test_a_language_is_looked_up_once_the_view_has_come_to_rest(
    qtbot: QtBot, owner: QObject, highlighter: Highlighter
) -> None:
    now = [0.0]
    scrolled = Highlighter(owner, clock=lambda: now[0])
    scrolled.set_text("a.py", (), CODE)
    scrolled.request("new", range(10))
    with qtbot.waitSignal(highlighter.changed):
        highlighter.request("new", range(10))
    assert scrolled.spans("new", 0) == ()
    with qtbot.waitSignal(scrolled.changed):
        now[0] += 1
    assert scrolled.spans("new", 0) == highlighter.spans("new", 0)


@pytest.mark.parametrize(("path", "line"), [("a.py", "name\n"), ("notes.txt", "value = 1\n")])
def test_lines_that_stay_plain_are_no_news_and_end_the_work(
    qtbot: QtBot, highlighter: Highlighter, path: str, line: str
) -> None:
    highlighter.set_text(path, (), (line,) * CHUNK_LINES)
    with qtbot.assertNotEmitted(highlighter.changed):
        highlighter.request("new", range(10))
        qtbot.waitUntil(lambda: not highlighter.is_busy)
    assert highlighter.spans("new", 0) == ()
