"""Every text that the window translates is found by the script that collects them."""

from collections import Counter

from tests.translation.window_texts import found, window_texts

ELSEWHERE = {
    "ui/palette/place_keys.py": "the table of keys",
    "ui/window/actions.py": "the table of actions",
    "ui/wording/mode_words.py": "the tables of policies and sandboxes",
    "ui/settings/servers/words.py": "the states of servers, which the core names",
    "ui/settings/approvals_page.py": "declared settings",
    "ui/settings/controls.py": "declared settings",
    "ui/settings/foot.py": "declared settings",
    "ui/settings/generated_page.py": "declared settings",
    "ui/settings/model_page.py": "the labels of providers",
    "ui/settings/project_page.py": "declared settings",
    "ui/settings/setting_row.py": "declared settings",
    "app/palette.py": "declared settings",
    "ui/chat/entry_words.py": "a tool without a word of its own is shown by its name",
}
"""Modules that translate what is written elsewhere, and where that is: `window_texts` takes it from there."""


def test_each_text_that_is_translated_is_written_where_it_is_found() -> None:
    lost = {path: each.unknown for path, each in found().items() if each.unknown and path not in ELSEWHERE}
    assert lost == {}, "write the text where it is translated; ask `self.tr` or a function of the module for it"


def test_a_text_is_either_counted_or_not() -> None:
    kinds = Counter((message.context, message.source) for message in set(window_texts()))
    assert [text for text, count in kinds.items() if count > 1] == []


def test_what_is_counted_says_where_the_number_stands() -> None:
    assert [each for each in set(window_texts()) if each.is_plural and "%n" not in each.source] == []
