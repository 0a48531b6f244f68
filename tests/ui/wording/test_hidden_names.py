"""Invisible characters of a name are displayed."""

import pytest
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.plain_text import named, on_one_line
from desktop_agent.ui.chat.cards.tool_body import short_line
from desktop_agent.ui.chat.markdown.parser import rich_text
from desktop_agent.ui.widgets.labels import ElidedLabel
from desktop_agent.ui.wording import hidden_text_risks, plain_tooltip, short_path, visible

UNSEEN = [
    *("\u202e", "\u2028", "\ufe0f", "\u180f", "\U0001d173", "\u2800", "\u3000", "\ufff0", "\xa0", "\u115f", "\ufdd0"),
]


@pytest.mark.parametrize("char", UNSEEN, ids=lambda char: f"U+{ord(char):04X}")
def test_names_titles_labels_links_and_paths_say_it(qtbot: QtBot, char: str) -> None:
    name, said = f"a{char}b", f"a⟨U+{ord(char):04X}⟩b"
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.setText(name)
    assert label.text() == said
    assert said in plain_tooltip(name)
    assert visible(name) == named(name) == short_line(name, 100) == said
    assert short_path(f"/srv/{name}") == f"/srv/{said}"
    assert rich_text(f"[{name}](https://example.org)", {}).text == said
    assert said in hidden_text_risks(f"rm {name}")[0]
    assert char not in on_one_line(name)


def test_a_carriage_return_before_a_line_feed_is_said_too() -> None:
    assert visible("a\r\nb") == "a␍\nb"


def test_a_line_that_is_too_long_to_draw_says_what_is_left_out() -> None:
    assert visible("x" * 5_010).endswith("… 10 more characters")
