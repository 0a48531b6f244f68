"""Changed words are looked for in small portions, and kept."""

from desktop_agent.core.diff.rows import DiffRow
from desktop_agent.ui.review.diff.line_words import LineWords
from tests.ui.review.stage import make_diff

DIFF = make_diff("one = 1\ntwo = 2\n", "one = 3\ntwo = 4\n")
FIRST, SECOND = DiffRow("changed", 0, 0), DiffRow("changed", 1, 1)


def test_both_sides_of_a_changed_line_know_their_words() -> None:
    words = LineWords()
    assert words.of(DIFF, FIRST, "old") == ((6, 7),)
    assert words.of(DIFF, FIRST, "new") == ((6, 7),)


def test_a_line_without_partner_has_no_changed_words() -> None:
    assert LineWords().of(DIFF, DiffRow("added", new=0), "new") == ()


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
