"""Every text of the window is found and translated, and no translation is unused."""

from translatable_texts import core_patterns, found, window_texts
from translations import LANGUAGES, PATTERNS, catalog

ELSEWHERE = {
    "ui/part_keys.py": "the table of keys",
    "ui/window/actions.py": "the table of actions",
    "ui/wording/phrases.py": "the tables of policies and sandboxes",
    "ui/settings/server_card.py": "the states of servers, which the core names",
    "ui/settings/setting_controls.py": "declared settings",
    "ui/settings/settings_dialog.py": "declared settings",
    "ui/settings/page_parts.py": "declared settings",
    "ui/settings/model_page.py": "the labels of providers",
    "ui/settings/project_page.py": "declared settings",
    "app/palette.py": "declared settings",
    "ui/chat/entry_words.py": "a tool without a word of its own is shown by its name",
    "ui/translation.py": "what the core says",
}
"""Modules that translate texts from elsewhere, and the place where `window_texts` finds them."""

HINT = "run packaging/translations.sh, translate what it names in packaging/translations/*.ts, and run it again"


def test_each_text_is_found_and_is_in_each_language() -> None:
    """One test, because reading the window's source takes a second."""
    lost = {path: each.unknown for path, each in found().items() if each.unknown and path not in ELSEWHERE}
    assert lost == {}, "write the text where it is translated; ask `self.tr` or a function of the module for it"
    texts = set(window_texts())
    for language in LANGUAGES:
        translated = set(catalog(language))
        assert (sorted(texts - translated), sorted(translated - texts)) == ([], []), f"{language}: {HINT}"
    assert PATTERNS.read_text(encoding="utf-8") == core_patterns(), HINT
