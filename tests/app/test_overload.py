"""An overloaded model in the real window: another one steps in, with a notice, and the user can stop."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.transcript import TextEntry
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers import fault
from tests.servers.dialects.chat import CHAT
from tests.servers.script import reply, text, thinking, tool_use
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")

BUSY = [fault.rate_limited(retry_after_ms="1")] * 5


@pytest.fixture(autouse=True)
def fallback(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> None:
    del isolated_home
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-000000000000")
    file = AppPaths.from_environment(os.environ).settings_file()
    save_setting(file, "model.fallback", value="openai-chat/gpt-5.4-mini")
    save_setting(file, "model.generates_titles", value=False)


def said(user: Driver) -> list[str]:
    return [entry.text for entry in user.transcript.entries if isinstance(entry, TextEntry) and entry.kind == "text"]


def test_the_other_model_steps_in_for_one_request(go: Go, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = tool_use("list_files")

    async def journey(user: Driver) -> None:
        await user.type("composer", "What is in here?")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: "I am back." in said(user), "the usual model is back")
        await user.see_turn_end()
        assert said(user) == ["I step in.", "I am back."]
        assert [notice.code for notice in user.notices] == ["fallback"]

    with (
        serve(reply(thinking("Hm.", signature="sig"), look), *BUSY, reply(text("I am back."))) as usual,
        serve(reply(text("I step in."), look), dialect=CHAT) as other,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        go([str(project), "--base-url", usual.url], journey)
        assert (usual.violations, other.violations) == ([], [])
