import json
import tomllib

from msgspec.json import encode

from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import declared_settings
from desktop_agent.ui.wording import MODES, POLICIES, approval_words, sandbox_words
from settings_page import PAGE, settings_page


def test_the_document_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == settings_page(), "run `python packaging/tools/settings_page.py`"


def test_the_defaults_that_it_shows_are_valid_and_all_there_are() -> None:
    block = PAGE.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    defaults = json.loads(encode(Settings()))  # lists instead of tuples, as TOML has them
    for section, name in (
        ("execution", "timeout_seconds"),
        ("execution", "max_memory_gib"),
        ("spending", "session_usd"),
        ("spending", "day_usd"),
    ):
        assert defaults[section].pop(name) is None, "a setting without a default is shown as a comment"
    assert tomllib.loads(block) == defaults


def test_every_setting_says_what_it_does_in_sentences() -> None:
    for key, setting in declared_settings().items():
        about = setting.about
        assert about.title[0].isupper(), key
        assert about.text.endswith("."), key
        assert setting.kind == "texts" or set(about.words) == set(setting.choices), key
        assert (setting.kind in ("whole", "number")) == bool(about.unit), key


def test_modes_are_called_the_same_everywhere() -> None:
    approval, sandbox = declared_settings()["execution.approval"], declared_settings()["execution.sandbox"]
    assert approval.about.words == {policy: approval_words(policy)[0] for policy in POLICIES}
    assert sandbox.about.words == {mode: sandbox_words(mode)[0] for mode in MODES}
