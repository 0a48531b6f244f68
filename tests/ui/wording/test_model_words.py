"""The model's words cannot hide anything from the user who decides by them."""

import pytest

from desktop_agent.ui.wording import one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [("", ""), ("a\nb", "a ⏎ b"), ("ls \u202e# mr", "ls ⟨U+202E⟩# mr"), ("x" * 1000, "x" * 1000)],
)
def test_a_text_on_one_line_has_nothing_hidden_in_it(text: str, line: str) -> None:
    assert one_line(text) == line
