"""Hostile markdown: each step of the window is bounded, and the total time is linear."""

import pytest

from desktop_agent.ui.chat.markdown import markdown_stream
from desktop_agent.ui.chat.markdown.blocks import Block
from desktop_agent.ui.chat.markdown.markdown_stream import MarkdownStream, Region
from tests.attacks.corpus import cases

ROW = "| " + " | ".join(f"cell {number}" for number in range(5)) + " |\n"
HOSTILE: dict[str, str] = {
    "a quote": "> a line of a quote\n" * 4_000,
    "a table of 3,000 rows": "| a | b | c | d | e |\n|---|---|---|---|---|\n" + ROW * 3_000,
    "a table of 3,000 columns": "|" + " a |" * 3_000 + "\n|" + "---|" * 3_000 + "\n" + "|" + " x |" * 3_000 + "\n",
    "a table of 200 columns": "|" + " a |" * 200 + "\n|" + "---|" * 200 + "\n" + ("|" + " x |" * 200 + "\n") * 100,
    "a table of tiny rows": "|a|\n|-|\n" + "|x|\n" * 10_000,
    "a cell": "| a | b |\n|---|---|\n| 1 | " + "word " * 40_000 + " |\n| 2 | z |\n",
    "one line": "x" * 1_000_000,
    "short lines": "ab\n" * 20_000,
    "lists in lists": "".join("  " * depth + "- x\n" for depth in range(400)),
    "quotes in quotes": ">" * 2_000 + " x\n",
    "an item": "- a\n" + "  more of it\n" * 6_000,
    "fences": "```\nx\n```\n" * 3_000,
    "emphasis": "*a " * 50_000,
    "a link": "[x](" + "a" * 500_000 + ")",
    "link definitions": "".join(f"[a{number}]: http://b/{number}\n" for number in range(5_000)),
    "a heading": "# " + "h " * 250_000,
    "inline code": "`" + "c" * 500_000 + "`",
    "brackets": "[" * 50_000,
    "accents": "a" + "\u0301" * 200_000,
    "nothing to see": "\u200b" * 200_000,
}


class CountedRegion(Region):
    lengths: list[int]
    heights: list[int]

    def __init__(self, source: str, *args: object, **more: object) -> None:
        self.lengths.append(len(source))
        self.heights.append(source.count("\n"))
        super().__init__(source, *args, **more)  # pyright: ignore[reportArgumentType]  # passed on as they came


@pytest.mark.parametrize("shape", cases(HOSTILE, str))
def test_no_step_parses_much_and_all_steps_parse_in_proportion(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = type("Counted", (CountedRegion,), {"lengths": list[int](), "heights": list[int]()})
    monkeypatch.setattr(markdown_stream, "Region", counted)
    text = HOSTILE[shape]
    reader = MarkdownStream()
    for start in range(0, len(text), 1_024):
        reader.feed(text[start : start + 1_024])
    reader.close()
    assert max(counted.lengths, default=0) <= 17_000
    assert max(counted.heights, default=0) <= 260
    assert sum(counted.lengths) <= 40 * len(text) + 40_000
    assert reader.blocks or shape == "link definitions"
    assert max((sum(map(len, block.rows)) for block in reader.blocks), default=0) <= 128
    assert max((len(cell) for block in reader.blocks for row in block.rows for cell in row), default=0) <= 2_000


def read_whole(text: str) -> list[Block]:
    reader = MarkdownStream()
    reader.feed(text)
    reader.close()
    return reader.blocks


def test_a_quote_longer_than_a_window_stays_a_quote() -> None:
    blocks = read_whole(HOSTILE["a quote"])
    assert {block.containers for block in blocks} == {"q"}
    assert sum(block.content.count("a line of a quote") for block in blocks) == 4_000


def test_a_table_whose_rows_are_long_stays_a_table() -> None:
    row = "| " + " | ".join(["some words " * 9] * 5) + " |\n"
    blocks = read_whole("| a | b | c | d | e |\n|---|---|---|---|---|\n" + row * 100)
    assert {block.kind for block in blocks} == {"table"}
    assert sum(len(block.rows) for block in blocks) == 101


def test_a_table_with_more_columns_than_have_room_is_shown_as_it_was_written() -> None:
    lines = ["|" + " a |" * 200, "|" + "---|" * 200, *["|" + " x |" * 200] * 20]
    blocks = read_whole("\n".join(lines))
    assert {block.kind for block in blocks} == {"text"}
    assert "".join((block.joint or "") + block.content for block in blocks) == "\n".join(lines)


def test_a_table_ends_before_a_row_that_no_window_holds_and_nothing_of_it_is_lost() -> None:
    cell = "word " * 40_000
    blocks = read_whole("| a | b |\n|---|---|\n| 0 | y |\n| 1 | " + cell + "|\n| 2 | z |\n")
    table, *rest = blocks
    assert table.rows == (("a", "b"), ("0", "y"))
    assert "".join((block.joint or "") + block.content for block in rest) == f"| 1 | {cell}|\n| 2 | z |"
