"""Streamed markdown gives the same as markdown read at once, and settled blocks never change."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from desktop_agent.ui.chat.markdown import blocks, markdown_stream, parser
from desktop_agent.ui.chat.markdown.blocks import CHUNK_LINES, SOFT_LIMIT, TABLE_ROWS, Block
from desktop_agent.ui.chat.markdown.markdown_stream import MarkdownStream, Region

PIECES = [
    *("a", "word", "é", "😀", " ", "  ", "\t", "\\", "`", "``", "*", "**", "_", "~~", "<b>", "![x](y)", "\u2060"),
    *("\n", "\n", "\n", "\n\n", "  \n", "\r\n", "\r", "\0"),
    *("# ", "## h", "===", "---", "***", "    ", "> ", "- ", "* ", "1. ", "2) ", "[ ] ", "[x] "),
    *("```", "```py", "~~~", "````", "```py\nx = 1\n\ny = 2\n```\n", "  ```\n"),
    *("$", "$$", "$$\n", "\n$$\na\n= b\n$$\n", "\n\\[\n- x\n\\]\n", "$x_1*y$", "\n$$x_1$$\n", "\n\\[y_2\\] "),
    *("|", "| a | b |", "|---|:-:|", "| --- |", "| c | d |\n| e | f |\n| g | h |\n"),
    *("[foo]", "[foo]: /u", "[foo]: http://x 'ti", "[bar](http://x)"),
    *("- a\n- b\n- c\n", "1. one\n   ```js\n   x\n   ```\n2. two\n", "> q\n> r\n", "para one two\n"),
    *("long words here and there. And another sentence follows it ", "x" * 70),
]
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
CUTS = st.lists(st.integers(1, 60), min_size=1, max_size=12)

SMALL = {
    "SOFT_LIMIT": 40,
    "CHUNK_LINES": 4,
    "CHUNK_CHARS": 60,
    "TABLE_ROWS": 3,
    "PROSE_LINES": 4,
    "TABLE_CELLS": 4,
    "TABLE_CHARS": 30,
    "MOST_COLUMNS": 3,
    "_WINDOW_CHARS": 64,
    "_WINDOW_LINES": 9,
    "_PATIENT_ABOVE": 50,
}


def read_whole(text: str) -> MarkdownStream:
    whole = MarkdownStream()
    whole.feed(text)
    whole.close()
    return whole


def cut(text: str, lengths: list[int]) -> Iterator[str]:
    at, number = 0, 0
    while at < len(text):
        length = lengths[number % len(lengths)]
        yield text[at : at + length]
        at, number = at + length, number + 1


@pytest.fixture(scope="class", params=["real limits", "small limits"])
def limits(request: pytest.FixtureRequest) -> Iterator[None]:
    """Use the real limits, and limits that make short examples long."""
    patch = pytest.MonkeyPatch()
    if request.param == "small limits":
        for module in (blocks, parser, markdown_stream):
            for name, value in SMALL.items():
                if hasattr(module, name):
                    patch.setattr(module, name, value)
    yield
    patch.undo()


@pytest.mark.usefixtures("limits")
class TestWhateverIsStreamed:
    """Cuts, chunks and windows meet every construct."""

    @given(MARKDOWN, CUTS)
    @example("a\n" * 30 + "# b", [1])
    @example("| a | b |\n|---|---|\n" + "| c | d |\n" * 60, [7])
    @example("| a | b |\n|---|---|\n" + "| some words | more words |\n" * 9 + "| c | d |\n" * 9, [7])
    @example("| a | b |\n|---|---|\n| c | d |\n| " + "word " * 30 + "| e |\n| f | g |\n", [5])
    @example("|a|b|c|d|\n|-|-|-|-|\n" + "|1|2|3|4|\n" * 5, [4])
    @example("- a\n" * 40 + "\n  b\n", [3])
    @example("```" + "x" * 70 + "\ncode\n```\n", [1])
    def test_streamed_blocks_are_those_of_the_whole_text(self, text: str, lengths: list[int]) -> None:
        streamed = MarkdownStream()
        for piece in cut(text, lengths):
            streamed.feed(piece)
        streamed.close()

        whole = read_whole(text)
        assert streamed.blocks == whole.blocks
        assert streamed.references.keys() == whole.references.keys()
        assert streamed.source == whole.source

    @given(MARKDOWN, CUTS)
    def test_only_what_is_reported_as_changed_has_changed(self, text: str, lengths: list[int]) -> None:
        streamed = MarkdownStream()
        known: list[Block] = []
        for piece in cut(text, lengths):
            changed = streamed.feed(piece)
            assert streamed.blocks[:changed] == known[:changed]
            known = list(streamed.blocks)

    @given(MARKDOWN)
    def test_every_block_knows_its_place_in_the_source(self, text: str) -> None:
        streamed = read_whole(text)
        assert all(0 <= block.start <= block.end <= len(streamed.source) for block in streamed.blocks)
        for block in streamed.blocks:
            if block.kind == "text" and not block.containers:
                assert streamed.source[block.start : block.end] == block.content

    @given(MARKDOWN)
    def test_blocks_stay_small(self, text: str) -> None:
        for block in read_whole(text * 20).blocks:
            if block.kind in ("text", "heading"):
                assert len(block.content) <= blocks.SOFT_LIMIT
            elif block.kind in ("code", "plain"):
                assert block.content.count("\n") < blocks.CHUNK_LINES
                assert len(block.content) <= blocks.CHUNK_CHARS


@pytest.mark.parametrize("formula", ["$$x_1 = 2$$", r"\[ x_1 = 2 \]", "$$\nx_1\n= 2\n$$"])
def test_a_formula_on_lines_of_its_own_is_shown_as_code(formula: str) -> None:
    above, block, below = read_whole(f"So it is:\n{formula}\nand $$y$$ is \\[not\\].").blocks
    assert (block.kind, block.language, block.content) == ("code", "math", formula)
    assert (above.kind, below.kind) == ("text", "text")


@given(MARKDOWN)
@example("$$\n```py\nx = 1\n\ny = 2\n```\n")
@example("\\[\n~~~\nx = 1\n\ny = 2\n~~~\n")
def test_a_message_within_the_limits_reads_as_commonmark_does(text: str) -> None:
    if "\t" in text:  # tabs inside an indented fence are kept as they are
        return
    streamed = read_whole(text)
    if any(line.lstrip().startswith(("```", "~~~")) and "|" in line for line in streamed.source.split("\n")):
        return  # a table whose header looks like a fence: we open the fence
    region = Region(streamed.source, 0)

    def meaning(block: Block) -> tuple[object, ...]:
        content = block.content.rstrip() if block.kind == "code" else block.content
        return block.kind, content, block.containers, block.marker, block.level, block.language, block.rows

    assert [meaning(block) for block in streamed.blocks] == [meaning(block) for block in region.blocks(region.nodes)]


def test_a_megabyte_on_one_line_is_cut_into_parts() -> None:
    streamed = read_whole("word " * 200_000)
    assert len(streamed.blocks) > 400
    assert {block.kind for block in streamed.blocks} == {"text"}
    assert all(block.joint == " " for block in streamed.blocks[1:])
    assert len(read_whole("x" * 1_000_000).blocks) == 1_000_000 // SOFT_LIMIT


def test_a_fence_that_never_ends_holds_the_rest() -> None:
    streamed = read_whole("before\n\n```python\nx = 1\n# not a heading\n- not a list\n")
    assert [block.kind for block in streamed.blocks] == ["text", "code"]
    assert streamed.blocks[1].content == "x = 1\n# not a heading\n- not a list"


def test_a_fence_is_read_in_chunks_that_give_the_code_back() -> None:
    code = "\n".join(f"line {number}" for number in range(3 * CHUNK_LINES + 5))
    streamed = read_whole(f"```\n{code}\n```\nafter")
    *chunks, after = streamed.blocks
    assert len(chunks) == 4
    assert "".join((block.joint or "") + block.content for block in chunks) == code
    assert streamed.source[chunks[0].start : chunks[-1].end] == f"```\n{code}\n```"
    assert after.content == "after"


def test_a_line_that_may_close_the_fence_is_not_shown_as_code() -> None:
    streamed = MarkdownStream()
    streamed.feed("```\ncode\n``")
    assert streamed.blocks[0].content == "code"
    streamed.feed(" no\n")
    assert streamed.blocks[0].content == "code\n`` no"


def test_the_rows_of_a_long_table_stay_one_table() -> None:
    streamed = MarkdownStream()
    for line in ("| a | b |\n", "|---|--:|\n", *(f"| {number} | x |\n" for number in range(2 * TABLE_ROWS + 3))):
        streamed.feed(line)
    streamed.close()
    assert [block.kind for block in streamed.blocks] == ["table"] * 3
    assert [len(block.rows) for block in streamed.blocks] == [TABLE_ROWS + 1, TABLE_ROWS, 3]
    assert [block.joint for block in streamed.blocks] == [None, "\n", "\n"]
    assert {block.alignments for block in streamed.blocks} == {("left", "right")}


def test_an_ordered_list_counts_on_after_its_items_settled() -> None:
    streamed = MarkdownStream()
    for line in ("3. a\n", "1. b\n", "1. c\n", "\n   more of c\n", "1. d\n"):
        streamed.feed(line)
    streamed.close()
    assert [block.marker for block in streamed.blocks] == ["3.", "4.", "5.", "", "6."]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "- a\n  > q\n  > ```py\n  > x\n  > ```\n  - [x] done\n  - [ ] open\n",
            [("text", "l", "•"), ("text", "lq", ""), ("code", "lq", ""), ("text", "ll", "☑"), ("text", "ll", "☐")],
        ),
        ("1.\n2. - x\n3. c", [("text", "l", "1."), ("text", "l", "2."), ("text", "ll", "•"), ("text", "l", "3.")]),
        ("<script>alert(1)</script>\n\n<div>\n*x*\n</div>", [("text", "", ""), ("text", "", "")]),
    ],
    ids=["lists, quotes and fences nest", "an item without text keeps its number", "HTML is text"],
)
def test_each_block_knows_what_it_stands_in(text: str, shown: list[tuple[str, str, str]]) -> None:
    assert [(block.kind, block.containers, block.marker) for block in read_whole(text).blocks] == shown


def test_html_is_shown_as_it_was_written_and_an_item_without_text_is_empty() -> None:
    assert read_whole("<script>alert(1)</script>\n\n*x*").blocks[0].content == "<script>alert(1)</script>"
    assert [block.content for block in read_whole("1.\n2. - x\n3. c").blocks] == ["", "", "x", "c"]


@pytest.mark.parametrize("opening", [">", "- ", "1. "])
def test_nothing_nested_too_deep_vanishes(opening: str) -> None:
    text = opening * 500 + "treasure"
    assert any("treasure" in block.content for block in read_whole(text).blocks)


def test_a_link_defined_later_changes_what_was_before() -> None:
    streamed = MarkdownStream()
    streamed.feed("See [the docs].\n\nMore.\n\n")
    assert streamed.feed("[the docs]: https://example.org\n\nEnd.\n") == 0
    assert streamed.references["THE DOCS"]["href"] == "https://example.org"


def test_a_carriage_return_at_a_cut_is_no_line_of_its_own() -> None:
    streamed = MarkdownStream()
    streamed.feed("a\r")
    streamed.feed("\nb\rc")
    streamed.close()
    assert streamed.source == "a\nb\nc"


def test_settled_source_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(text: str, offset: int, **more: Any) -> Region:
        read.append(len(text))
        return Region(text, offset, **more)

    monkeypatch.setattr(markdown_stream, "Region", counted)
    streamed = MarkdownStream()
    paragraph = "A sentence of some words. " * 8 + "\n\n"
    for piece in cut(paragraph * 200, [16]):
        streamed.feed(piece)
    assert max(read) < 3 * len(paragraph)
