"""A few lines get the colours they would get in the whole file."""

import pytest

from desktop_agent.ui.review.diff.syntax import MAX_COLOURED_CHARS, LineSpans, lexer_for_path, spans_by_line


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
    ],
)
def test_the_language_is_known_by_the_name(path: str, name: str) -> None:
    lexer = lexer_for_path(path)
    assert lexer
    assert lexer.name == name


@pytest.mark.parametrize("path", ["notes.txt", "data.unheard-of", "LICENSE", ""])
def test_plain_text_and_unknown_files_have_no_language(path: str) -> None:
    assert lexer_for_path(path) is None


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
