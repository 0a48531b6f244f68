"""Hostile markdown: what one step of the window reads is bounded, and reading all of it takes time in proportion."""

import pytest

from desktop_agent.ui.chat.markdown import stream
from desktop_agent.ui.chat.markdown.parse import Region
from desktop_agent.ui.chat.markdown.stream import MarkdownStream
from tests.attacks.corpus import cases

ROW = "| " + " | ".join(f"cell {number}" for number in range(5)) + " |\n"
HOSTILE: dict[str, str] = {
    "a quote": "> a line of a quote\n" * 4_000,
    "a table of 3,000 rows": "| a | b | c | d | e |\n|---|---|---|---|---|\n" + ROW * 3_000,
    "a table of 3,000 columns": "|" + " a |" * 3_000 + "\n|" + "---|" * 3_000 + "\n" + "|" + " x |" * 3_000 + "\n",
    "one line": "x" * 1_000_000,
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
    """A region that notes how much source was parsed."""

    lengths: list[int]

    def __init__(self, source: str, *args: object, **more: object) -> None:
        self.lengths.append(len(source))
        super().__init__(source, *args, **more)  # pyright: ignore[reportArgumentType]  # passed on as they came


@pytest.mark.parametrize("shape", cases(HOSTILE, str))
def test_no_step_parses_much_and_all_steps_parse_in_proportion(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = type("Counted", (CountedRegion,), {"lengths": list[int]()})
    monkeypatch.setattr(stream, "Region", counted)
    text = HOSTILE[shape]
    reader = MarkdownStream()
    for start in range(0, len(text), 1_024):
        reader.feed(text[start : start + 1_024])
    reader.close()
    assert max(counted.lengths, default=0) <= 17_000
    assert sum(counted.lengths) <= 40 * len(text) + 40_000
    assert reader.blocks or shape == "link definitions"


def test_a_quote_longer_than_a_window_stays_a_quote() -> None:
    reader = MarkdownStream()
    reader.feed(HOSTILE["a quote"])
    reader.close()
    assert {block.containers for block in reader.blocks} == {"q"}
    assert sum(block.content.count("a line of a quote") for block in reader.blocks) == 4_000
