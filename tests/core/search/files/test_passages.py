"""Windows of lines, and which of their lines are shown."""

from desktop_agent.core.search.files.passages import LONGEST_LINE, passages
from desktop_agent.core.search.files.snippet import LONGEST_LINE as LONGEST_SHOWN
from desktop_agent.core.search.files.snippet import SNIPPET_LINES, best_lines


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
