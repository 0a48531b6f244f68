"""Every text of the window is found and translated, and no translation is unused."""

from translatable_texts import core_patterns, found, window_texts
from translations import LANGUAGES, PATTERNS, catalog

ELSEWHERE = {
    "ui/part_keys.py": (1, "the table of keys"),
    "ui/wording.py": (7, "the tables of policies and sandboxes"),
    "ui/settings/server_card.py": (1, "the states of servers, which the core names"),
    "ui/settings/setting_controls.py": (13, "declared settings"),
    "ui/settings/page_parts.py": (15, "declared settings"),
    "ui/settings/model_page.py": (2, "the labels of providers"),
    "ui/settings/extensions_page.py": (1, "declared settings"),
    "app/palette.py": (2, "declared settings"),
    "ui/chat/entry_words.py": (1, "a tool without a word of its own is shown by its name"),
}
"""Modules that translate texts from elsewhere: how many times at most, and where `window_texts` finds them."""

HINT = "run packaging/translations.sh, translate what it names in packaging/translations/*.ts, and run it again"


def test_each_text_is_found_and_is_in_each_language() -> None:
    """One test, because reading the window's source takes a second."""
    unknown = {path: each.unknown for path, each in found().items()}
    lost = {path: each for path, each in unknown.items() if len(each) > ELSEWHERE.get(path, (0, ""))[0]}
    assert lost == {}, "write the text where it is translated; ask `self.tr` or a function of the module for it"
    texts = set(window_texts())
    for language in LANGUAGES:
        translated = set(catalog(language))
        assert (sorted(texts - translated), sorted(translated - texts)) == ([], []), f"{language}: {HINT}"
    assert PATTERNS.read_text(encoding="utf-8") == core_patterns(), HINT
