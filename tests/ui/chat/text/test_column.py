"""A column of blocks draws the same however its text arrived, and finds positions."""

from itertools import accumulate
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from desktop_agent.ui.chat.markdown.blocks import plain_blocks
from desktop_agent.ui.chat.markdown.markdown_stream import MarkdownStream
from desktop_agent.ui.chat.markdown.parser import utf16_slice
from desktop_agent.ui.chat.text.column import Column, Heights
from desktop_agent.ui.chat.text.column_text import TextMatch, TextPosition
from desktop_agent.ui.chat.text.passage import Box, fence_label
from desktop_agent.ui.chat.text.styles import LINK_TINT, TextMark, TextStyles
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.text_colours import Lexers
from desktop_agent.ui.wording import utf16_length

CHANGES = st.lists(st.tuples(st.sampled_from(["set", "append", "remove", "replace", "ask"]), st.integers(0, 30)))


@given(st.lists(st.integers(0, 50), max_size=30), CHANGES)
def test_positions_are_sums_whatever_happened_before(first: list[int], changes: list[tuple[str, int]]) -> None:
    heights, plain = Heights(), list(first)
    heights.replace(0, first)
    for what, number in changes:
        at = number % len(plain) if plain else 0
        match what:
            case "set" if plain:
                heights.set(at, number)
                plain[at] = number
            case "append":
                heights.splice(len(plain), 0, (number,))
                plain.append(number)
            case "remove" if plain:
                heights.splice(at, 1, ())
                del plain[at]
            case "replace":
                heights.replace(at, [number, 7])
                plain[at:] = [number, 7]
            case _:
                assert heights.total == sum(plain)
    tops = [0, *accumulate(plain)]
    assert heights.total == tops[-1]
    assert [heights.top(index) for index in range(len(plain) + 1)] == tops
    for y in range(-5, tops[-1] + 10, 3):
        index = heights.at(y)
        if not plain:
            assert index == -1
        elif 0 <= y < tops[-1]:
            assert tops[index] <= y < tops[index + 1]
        elif y >= tops[-1]:
            assert index == len(plain) - 1


TEXT = """# Title

A paragraph with **bold**, `code` and a [link](https://example.org) and some more words to wrap it, 😀 included.

- one
  - nested
- [x] done

> quoted *text*

| a | b |
|---|--:|
| 1 | `two` |
| three | a [long](https://example.org/long) cell of a narrow column that has to be wrapped onto lines |

```python
def f(x):
    return x
```

---
`code` begins this paragraph. The end.
"""
PIECES = st.lists(
    st.sampled_from(
        ["word ", "**b** ", "`c` ", "\n", "\n\n", "- ", "1. ", "> ", "```\n", "| a | b |\n", "|--|--|\n", "# "]
    ),
    max_size=30,
).map("".join)


@pytest.fixture(scope="module")
def styles(theme: Theme) -> TextStyles:
    return TextStyles(theme)


def column_of(text: str, styles: TextStyles, width: int = 400, *, is_framed: bool = True) -> Column:
    stream = MarkdownStream()
    stream.feed(text)
    stream.close()
    column = Column(styles, is_framed=is_framed)
    column.set_width(width)
    column.set_blocks(stream.blocks, stream.references, 0)
    column.lay_out(0, 1_000_000)
    return column


def streamed_column(text: str, styles: TextStyles, size: int) -> Column:
    stream = MarkdownStream()
    column = Column(styles)
    column.set_width(400)
    for at in range(0, len(text), size):
        column.set_blocks(stream.blocks, stream.references, stream.feed(text[at : at + size]))
        column.lay_out(0, 1_000_000)
    column.set_blocks(stream.blocks, stream.references, stream.close())
    column.lay_out(0, 1_000_000)
    return column


def picture(column: Column, width: int = 400, scale: float = 1.0) -> QImage:
    image = QImage(int(width * scale), int(max(1, column.height) * scale), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(QColor("white"))
    painter = QPainter(image)
    column.draw(painter, 0, column.height)
    painter.end()
    return image


@pytest.mark.parametrize("size", [1, 3, 16, 200])
def test_streamed_text_is_drawn_as_the_whole_text(styles: TextStyles, size: int) -> None:
    assert picture(streamed_column(TEXT, styles, size)) == picture(column_of(TEXT, styles))


@given(text=PIECES, size=st.integers(1, 20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_streamed_text_is_drawn_as_the_whole_text(styles: TextStyles, text: str, size: int) -> None:
    streamed, whole = streamed_column(text, styles, size), column_of(text, styles)
    assert streamed.height == whole.height
    assert picture(streamed) == picture(whole)


@pytest.mark.parametrize(
    "text", [TEXT, "שלום `code` וגם עוד הרבה מילים שצריכות כמה שורות כדי לעמוד\n\n```\nשלום x\n```"]
)
@pytest.mark.parametrize("is_framed", [True, False])
def test_a_column_of_another_width_is_drawn_as_if_it_had_it_at_first(
    styles: TextStyles, text: str, is_framed: bool
) -> None:
    columns = [column_of(text, styles, width, is_framed=is_framed) for width in (400, 240, 640)]
    moved = columns[0]
    for column in columns[1:]:
        width = 240 if column is columns[1] else 640
        moved.set_width(width)
        moved.lay_out(0, 1_000_000)
        assert moved.height == column.height
        assert picture(moved, width) == picture(column, width)


def test_what_changes_after_the_width_is_laid_out_as_it_is_then(styles: TextStyles) -> None:
    column = column_of("One paragraph.\n\nAnd another.", styles)
    column.set_width(240)
    stream = MarkdownStream()
    stream.feed("One paragraph.\n\nAnd another, with more in it.")
    stream.close()
    column.set_blocks(stream.blocks, stream.references, 1)
    column.lay_out(0, 1_000_000)
    assert picture(column, 240) == picture(
        column_of("One paragraph.\n\nAnd another, with more in it.", styles, 240), 240
    )


def test_what_did_not_change_is_not_laid_out_again(styles: TextStyles, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Box] = []
    make_box = Box.__init__

    def count(box: Box, *parts: Any, **how: Any) -> None:
        made.append(box)
        make_box(box, *parts, **how)

    monkeypatch.setattr(Box, "__init__", count)
    paragraphs = "\n\n".join(f"paragraph {number} of some words" for number in range(50))
    streamed_column(paragraphs, styles, 10)
    assert len(made) < 2.5 * len(paragraphs) / 10


def test_only_what_is_asked_for_is_laid_out(styles: TextStyles) -> None:
    column = Column(styles)
    column.set_width(400)
    column.set_blocks(plain_blocks("line\n" * 4_000), {}, 0)
    estimated = column.height
    column.lay_out(30_000, 30_600)
    assert column.laid_out <= 3
    assert abs(column.height - estimated) < 0.1 * estimated


def test_the_anchor_holds_while_heights_above_become_exact(styles: TextStyles) -> None:
    column = Column(styles)
    column.set_width(300)
    stream = MarkdownStream()
    stream.feed("\n\n".join("wide words that wrap " * 9 for _ in range(200)))
    column.set_blocks(stream.blocks, stream.references, 0)
    block, distance = column.anchor(5_000)
    column.lay_out(0, 5_000)
    assert column.anchor(column.top(block) + distance) == (block, distance)


@pytest.mark.parametrize("width", [180, 400, 900])
def test_every_position_is_found_where_it_is_drawn(styles: TextStyles, width: int) -> None:
    column = column_of(TEXT, styles, width)
    for index in range(len(column.text.blocks)):
        text = column.text.shown(index)
        for offset in range(utf16_length(text)):
            rects = column.rects(index, offset, offset + 1)
            if not rects or rects[0].width() < 2:
                continue
            rect = rects[0]
            assert column.place_at(rect.left() + 0.5, rect.center().y()) == TextPosition(index, offset), text
    assert column.place_at(10, -5) == TextPosition(0, 0)
    assert column.place_at(10, 10_000) == column.text.end()


@pytest.mark.parametrize(
    ("text", "width", "word", "href"),
    [("see [here](https://example.org) now", 400, "here", ""), (TEXT, 260, "long", "/long")],
    ids=["in a line", "in a wrapped cell on the right"],
)
def test_links_are_found_under_the_pointer(styles: TextStyles, text: str, width: int, word: str, href: str) -> None:
    column = column_of(text, styles, width)
    index, start = next((at, column.text.shown(at).find(word)) for at in (0, 6) if word in column.text.shown(at))
    rect = column.rects(index, start, start + 4)[0]
    found = column.span_at(rect.center().x(), rect.center().y())
    assert found is not None
    assert found[1].href == f"https://example.org{href}"
    assert column.span_at(rect.right() + 60, rect.center().y()) is None


def test_a_table_is_copied_with_tabs_and_its_columns_line_up_over_its_parts(styles: TextStyles) -> None:
    rows = "".join(f"| {number} | {'wide ' * (number % 5)} |\n" for number in range(45))
    column = column_of(f"| head | b |\n|---|---|\n{rows}", styles)
    assert [block.kind for block in column.text.blocks] == ["table"] * 3
    assert column.text.shown(0).startswith("head\tb\n0\t\n1\twide")
    lefts = {column.rects(block, column.text.shown(block).index("wide"), 99)[0].left() for block in range(3)}
    assert len(lefts) == 1


def test_a_table_with_more_columns_than_room_stays_within_its_width(styles: TextStyles) -> None:
    cells = " | ".join(f"column number {number}" for number in range(12))
    column = column_of(f"| {cells} |\n|{'---|' * 12}\n| {cells} |\n", styles, 360)
    text = column.text.shown(0)
    assert max(rect.right() for rect in column.rects(0, 0, len(text))) <= 361


def test_colours_arrive_without_changing_the_layout(styles: TextStyles, qtbot: QtBot) -> None:
    lexers = Lexers()
    column = column_of("```python\ndef f(): return 'x'\n```", styles)
    before, height = picture(column), column.height
    qtbot.waitUntil(lambda: lexers.is_known("python"))
    assert column.colour_next(0, 1_000, lexers)
    assert not column.colour_next(0, 1_000, lexers)
    assert column.height == height
    assert picture(column) != before


def test_a_growing_fence_keeps_its_colours(styles: TextStyles, qtbot: QtBot) -> None:
    lexers = Lexers()
    stream = MarkdownStream()
    column = Column(styles)
    column.set_width(400)
    column.set_blocks(stream.blocks, stream.references, stream.feed("```python\nreturn 1\n"))
    column.lay_out(0, 1_000)
    qtbot.waitUntil(lambda: lexers.is_known("python"))
    column.colour_next(0, 1_000, lexers)
    column.set_blocks(stream.blocks, stream.references, stream.feed("x"))
    column.lay_out(0, 1_000)
    image = picture(column)
    colours = {image.pixelColor(x, y).name() for x in range(400) for y in range(image.height())}
    assert styles.colours.syntax_keyword.lower() in colours


def test_a_selection_and_matches_change_only_what_they_touch(styles: TextStyles) -> None:
    column = column_of("first words\n\nsecond words", styles)
    before = picture(column)
    column.highlights.select((TextPosition(1, 0), TextPosition(1, 6)))
    column.highlights.show_matches([TextMatch(1, 7, 12)], None)
    after = picture(column)
    half = column.top(1)
    assert after.copy(0, 0, 400, half) == before.copy(0, 0, 400, half)
    assert after != before
    column.highlights.select(None)
    column.highlights.show_matches([], None)
    assert picture(column) == before


@pytest.mark.parametrize("scale", [1.0, 2.0, 1.5])
def test_it_is_drawn_sharp_at_every_scale(styles: TextStyles, scale: float) -> None:
    image = picture(column_of(TEXT, styles), scale=scale)
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(40)}
    assert styles.colours.text.lower() in colours


@pytest.mark.parametrize(
    ("start", "end", "copied"),
    [
        (TextPosition(0, 2), TextPosition(0, 5), "rst"),
        (TextPosition(0, 0), TextPosition(1, 6), "first **bold**\n\nsecond"),
        (TextPosition(0, 6), TextPosition(2, 2), "bold\n\nsecond\n\nth"),
        (TextPosition(1, 3), TextPosition(2, 99), "ond\n\nthird"),
        (TextPosition(2, 3), TextPosition(1, 0), ""),
    ],
)
def test_copying_gives_source_for_whole_blocks_and_shown_text_for_parts(
    styles: TextStyles, start: TextPosition, end: TextPosition, copied: str
) -> None:
    source = "first **bold**\n\nsecond\n\nthird"
    assert column_of(source, styles).text.copied(start, end, source) == copied


def test_parts_of_one_long_item_are_copied_as_one_text(styles: TextStyles) -> None:
    source = "- " + "some words " * 500
    column = column_of(source, styles)
    assert len(column.text.blocks) > 2
    copied = column.text.copied(TextPosition(0, 5), TextPosition(len(column.text.blocks) - 1, 4), source)
    assert copied.startswith("words some")
    assert "  " not in copied


def test_code_waits_for_its_lexer_and_an_unknown_language_stays_plain(styles: TextStyles, qtbot: QtBot) -> None:
    lexers = Lexers()
    column = column_of("```klingon\nQapla'\n```", styles)
    before = picture(column)
    qtbot.waitUntil(lambda: column.colour_next(0, 1_000, lexers))
    assert not lexers.is_busy
    assert picture(column) == before
    assert not column.colour_next(0, 1_000, lexers)


def test_only_the_matches_around_the_current_one_are_marked(
    styles: TextStyles, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked: list[int] = []
    draw = Box.draw

    def counted(box: Box, *args: object) -> None:
        marked.append(len(args[4]))  # pyright: ignore[reportArgumentType]  # the highlights
        draw(box, *args)  # pyright: ignore[reportArgumentType]  # passed on as they came

    monkeypatch.setattr(Box, "draw", counted)
    column = column_of("ab " * 600, styles)
    matches = [TextMatch(0, 3 * number, 3 * number + 2) for number in range(600)]
    column.highlights.show_matches(matches, matches[400])
    picture(column)
    assert 0 < max(marked) <= 60


@pytest.mark.parametrize(
    "text",
    [
        "word" * 100,
        f"`{'code' * 100}` and https://example.org/{'path/' * 60}",
        f"| a | b |\n|---|---|\n| {'word' * 60} | `{'code' * 60}` |\n",
        f"```{'python' * 60}\n{'x' * 300}\n```",
        "\n".join(f"{'  ' * depth}- {'word' * 30}" for depth in range(30)),
        "> " * 30 + "word" * 30,
        f"# {'word' * 100}\n\n$$\n{'x' * 300}\n$$",
        "سطر" * 200,
    ],
)
def test_nothing_is_wider_than_its_column(styles: TextStyles, text: str) -> None:
    column = column_of(text, styles, 320)
    for index in range(len(column.text.blocks)):
        for rect in column.rects(index, 0, utf16_length(column.text.shown(index))):
            assert rect.left() >= 0
            assert rect.right() <= 321


def test_a_paragraph_stands_on_the_side_where_its_script_begins(styles: TextStyles) -> None:
    text = "Latin\n\nمرحبا `code` hello.\n\n- פריט\n\n```\nשלום\n```\n"
    column = column_of(text, styles)
    latin, arabic, item, code = ([*column.rects(index, 0, 200)] for index in range(4))
    assert latin[0].left() == 0
    assert arabic[0].right() == pytest.approx(400, abs=1)
    assert column.rects(1, len("مرحبا code hello"), 200)[0].left() < arabic[0].right() - 60, "the dot ends the line"
    assert item[0].right() == pytest.approx(400 - 22, abs=1), "its marker stands on the right"
    assert code[0].left() == pytest.approx(12, abs=1), "code is always read from the left"


def test_a_column_that_was_released_is_drawn_as_before(styles: TextStyles) -> None:
    column = column_of(TEXT, styles)
    before, height = picture(column), column.height
    column.release_all()
    assert (column.laid_out, column.height) == (0, height)
    column.lay_out(0, height)
    assert picture(column) == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_changed_lines_of_a_diff_have_the_grounds_of_the_review(theme: Theme, scheme: Literal["light", "dark"]) -> None:
    theme.choose(scheme)
    styles = TextStyles(theme)
    text = "```diff\n--- a/x\n+++ b/x\n-old\n+a new line that goes on in the next\n same\n```"
    image = picture(column_of(text, styles, 240), 240)
    theme.choose("light")
    edge = [image.pixelColor(3, y).name() for y in range(image.height())]
    grounds = [edge.count(getattr(styles.colours, role).lower()) for role in ("removed_line", "added_line")]
    assert grounds == [styles.code_line, 2 * styles.code_line]
    assert picture(streamed_column(text, styles, 3)) == picture(column_of(text, styles))


def test_a_fence_that_is_not_drawn_says_that_it_is_source() -> None:
    said = ["math: formula, shown as source", "mermaid: diagram, shown as source", "python"]
    assert [fence_label(language) for language in ("math", "mermaid", "python")] == said


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("קראו לפונקציה `code_here()` לפני הכול", "code_here()"),
        ("`--flag=[1, 2]` הוא הדגל", "--flag=[1, 2]"),
        ("In English, עברית `a -> b()` עברית.", "a -> b()"),
        ("😀 שלום **מודגש `f(x).` כאן**, `g()`", "f(x)."),
        ("| שלום |\n|---|\n| קראו `call(1).` עכשיו |", "call(1)."),
    ],
)
def test_code_keeps_its_order_in_text_from_right_to_left(styles: TextStyles, text: str, code: str) -> None:
    column = column_of(text, styles)
    shown = column.text.shown(0)
    start = utf16_length(shown[: shown.index(code)])
    assert "\u2066" not in shown
    middles = [column.rects(0, start + at, start + at + 1)[0].center() for at in range(1, len(code) - 1)]
    assert [middle.x() for middle in middles] == sorted(middle.x() for middle in middles)
    found = [column.place_at(middle.x() - 2, middle.y()) for middle in middles]
    assert found == [TextPosition(0, start + at) for at in range(1, len(code) - 1)]
    place, end = TextPosition(0, start), TextPosition(0, start + len(code))
    assert column.text.copied(place, end, text) == code


def test_a_paragraph_that_begins_with_code_is_aligned_by_its_words(styles: TextStyles) -> None:
    column = column_of("`code()` זו פונקציה\n\n`code()` is a function", styles)
    lefts = [column.rects(index, 0, 4)[0].left() for index in range(2)]
    assert lefts[0] > 300
    assert lefts[1] < 20


def test_characters_that_change_the_direction_are_shown_by_name_and_code_is_copied_as_it_is(styles: TextStyles) -> None:
    source = "a\u202eb `c\u2066d`\n\n```python\nx = 'e\u202ef' # \u2069\n```\n\n| g\u202eh |\n|---|"
    column = column_of(source, styles)
    shown = [column.text.shown(index).splitlines()[0] for index in range(3)]
    assert shown == ["a⟨U+202E⟩b c⟨U+2066⟩d", "x = 'e⟨U+202E⟩f' # ⟨U+2069⟩", "g⟨U+202E⟩h"]
    assert column.text.code(1) == "x = 'e\u202ef' # \u2069"
    rtl = column_of("שלום!\u200f המשך ‌ו", styles).text.shown(0)
    assert rtl == "שלום!⟨U+200F⟩\u200f המשך ‌ו"  # what right-to-left text needs still works


def test_marks_stay_on_their_words_behind_a_character_that_is_named(styles: TextStyles) -> None:
    column = Column(styles)
    column.set_width(400)
    column.set_blocks(plain_blocks("\u202e 😀 here"), {}, 0, [[TextMark(5, 4, LINK_TINT, "a.py")]])
    column.lay_out(0, 1_000)
    [(_, link)] = column.links()
    assert utf16_slice(column.text.shown(0), link.start, link.start + link.length) == "here"
