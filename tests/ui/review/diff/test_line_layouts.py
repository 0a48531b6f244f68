import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage, QPainter, QPixmap

from desktop_agent.core.diff.rows import DiffRow
from desktop_agent.ui.review.diff.line_layouts import Columns, LineLayouts, LineWords, wrap
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.wording import visible_line
from tests.core.diff.changes import make_diff
from tests.ui.ink import colours_of

WHOLE = Columns(0, 10_000)


@pytest.fixture
def layouts(theme: Theme) -> LineLayouts:
    return LineLayouts(theme, theme.code_font(12))


@pytest.mark.parametrize("line", ["plain = 1\n", "żółć 🎉🎉 = '\t'\r\n", "x" * 3_000, "ab\u202ecd" * 400])
def test_every_character_is_hit_where_it_stands(layouts: LineLayouts, line: str) -> None:
    text = line.rstrip("\r\n")
    for first in (0, 700, 1_300):
        column = visible_line(text).position(first) if first < len(text) else 0
        laid = layouts.line("new", 1, line, (), Columns(column, 320))
        for offset in range(min(first, len(text)), min(first + 80, len(text))):
            assert laid.offset(laid.x(offset)) == offset


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("short", ["short"]),
        ("x" * 16, ["x" * 16]),
        ("x" * 33, ["x" * 16, "x" * 16, "x"]),
        ("some words that go on", ["some words that ", "go on"]),
        ("a " + "x" * 20, ["a xxxxxxxxxxxxxx", "xxxxxx"]),
        ("\tif tab:\treturn value", ["    if tab: ", "return value"]),
        ("漢字" * 9, ["漢字" * 4, "漢字" * 4, "漢字"]),
        ("größe " * 4, ["größe größe ", "größe größe "]),
        ("🎉" * 9, ["🎉" * 8, "🎉"]),
        ("🎉a漢é" * 4, ["🎉a漢é🎉a漢é🎉a", "漢é🎉a漢é"]),
        ("y" * 6_000, ["y" * 16] * 312 + ["y" * 8, ""]),
    ],
)
def test_a_line_is_wrapped_after_blanks_and_every_character_is_hit_in_its_part(
    layouts: LineLayouts, text: str, parts: list[str]
) -> None:
    line = visible_line(text)
    starts = wrap(line, 16)
    assert [line.text[a:b] for a, b in zip(starts, (*starts[1:], None), strict=True)] == parts
    laid = layouts.line("new", 1, text, (), Columns(0, 16, 16))
    assert laid.part_count == len(parts)
    assert laid.width <= 17 * laid.x(1) if len(text) > 40 else True
    for offset in range(min(len(text), 80)):
        assert laid.offset(laid.x(offset), laid.part_of(offset)) == offset
        ((part, left, right),) = laid.stretches(offset, offset + 1, range(laid.part_count))
        assert (part, left) == (laid.part_of(offset), laid.x(offset))
        assert left < right <= left + 5 * laid.x(1)
    found = list(laid.stretches(0, len(text), range(2)))
    assert [part for part, _, _ in found] == list(range(min(2, len(parts))))[: len(text)]


def test_a_window_is_as_wide_and_stands_where_the_whole_line_would(layouts: LineLayouts) -> None:
    line = "abcdefghij" * 300
    whole, window = layouts.line("old", 1, line, (), WHOLE), layouts.line("new", 1, line, (), Columns(1_000, 80))
    assert window.width == pytest.approx(whole.width)
    for offset in (0, 999, 1_040, 2_500, 3_000):
        assert window.x(offset) == pytest.approx(whole.x(offset))


def test_a_window_looks_like_that_part_of_the_whole_line(layouts: LineLayouts, theme: Theme) -> None:
    line = "".join(f"{number:05} " for number in range(500))
    spans = tuple((start, start + 5, "syntax_number") for start in range(0, 3_000, 12))
    pictures: list[QImage] = []
    for side, columns in (("old", WHOLE), ("new", Columns(1_000, 80))):
        image = QImage(500, 20, QImage.Format.Format_RGB32)
        image.fill(theme.colour("surface"))
        painter = QPainter(image)
        laid = layouts.line(side, 1, line, spans, columns)
        laid.draw(painter, -round(laid.x(1_000)), 0, 20)
        painter.end()
        pictures.append(image)
    assert pictures[0] == pictures[1]


def test_the_colour_of_a_changed_word_goes_over_the_syntax(layouts: LineLayouts, theme: Theme) -> None:
    laid = layouts.line("new", 1, "■■■■■■■■", ((0, 8, "syntax_keyword"),), WHOLE)
    picture = QPixmap(200, 24)
    picture.fill(theme.colour("surface"))
    painter = QPainter(picture)
    laid.draw(painter, 0, 0, 24, ((0, 4, "text"),))
    painter.end()
    middle, keyword = int(laid.x(4)), theme.colours.syntax_keyword
    word, rest = (colours_of(picture, QRect(left, 0, middle - 2, 24)) for left in (1, middle + 1))
    assert theme.colours.text in word
    assert keyword not in word
    assert keyword in rest


def test_a_line_is_laid_out_anew_when_its_colours_have_come_and_no_other_is(layouts: LineLayouts) -> None:
    plain, other = (layouts.line("new", number, "word", (), WHOLE) for number in (1, 2))
    coloured = layouts.line("new", 1, "word", ((0, 4, "syntax_keyword"),), WHOLE)
    assert coloured is not plain
    assert coloured.is_coloured(3, 9)
    assert not coloured.is_coloured(4, 9)
    assert layouts.line("new", 1, "word", ((0, 4, "syntax_keyword"),), WHOLE) is coloured
    assert layouts.line("new", 2, "word", (), WHOLE) is other


def test_only_so_many_lines_are_kept(layouts: LineLayouts) -> None:
    first = layouts.line("new", 0, "word", (), WHOLE)
    for number in range(1, LineLayouts.MAX_KEPT + 1):
        layouts.line("new", number, "word", (), WHOLE)
    assert layouts.line("new", 0, "word", (), WHOLE) is not first


DIFF = make_diff("one = 1\ntwo = 2\n", "one = 3\ntwo = 4\n")
FIRST, SECOND = DiffRow("changed", 0, 0), DiffRow("changed", 1, 1)


def test_what_the_time_does_not_suffice_for_is_found_in_the_next_painting() -> None:
    words = LineWords(budget_s=1e-9)
    assert words.of(DIFF, FIRST, "new") == ((6, 7),)
    assert words.of(DIFF, SECOND, "new") is None
    assert words.of(DIFF, FIRST, "old") == ((6, 7),)
    words.begin()
    assert words.of(DIFF, SECOND, "new") == ((6, 7),)


def test_another_file_has_its_own_words() -> None:
    words = LineWords()
    words.of(DIFF, FIRST, "new")
    words.clear()
    words.begin()
    assert words.of(make_diff("one = 1\n", "one, 1\n"), FIRST, "new") == ((3, 4),)
