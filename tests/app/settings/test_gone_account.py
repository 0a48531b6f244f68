"""When a conversation's account was removed, the card offers other accounts to go on with."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListView

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import Account
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.settings.settings_file import save_setting
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.script import reply, text
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp", "key")


def test_another_account_goes_on_where_one_is_gone(go: Go, project: Path) -> None:
    paths = AppPaths.from_environment(os.environ)
    file = AccountsFile(paths.config / ACCOUNTS_NAME)

    async def begin(user: Driver) -> None:
        await user.run_turn("go on")

    async def go_on(user: Driver) -> None:
        await user.until_true(lambda: [notice.code for notice in user.notices] == ["no_account"], "it says so")
        await user.click("chooseAccountButton")
        rows = await user.see(QListView, "modelList")
        await user.until_true(lambda: "Anthropic" in highlighted(rows), "the accounts are offered")
        assert highlighted(rows).startswith("claude-sonnet-5-5"), "the same model"
        await user.press(Qt.Key.Key_Return)
        usual = ModelRef(provider="anthropic", model="claude-sonnet-5-5", base_url=server.url)
        await user.until_true(lambda: user.transcript.session.model == usual, "the usual account is in force")
        await user.run_turn("go on")

    with serve(reply(text("Hello.")), reply(text("Here.")), asks_for_key=False) as server:
        save_setting(paths.settings_file(), "model.base_url", server.url)
        work = Account(provider="anthropic", name="work", address=server.url, kind="none")
        file.put(work)
        go([str(project), "--account", "work"], begin)
        file.remove(work)
        go([str(project), "--continue"], go_on)
        assert len(server.messages) == 2


def highlighted(rows: QListView) -> str:
    return str(rows.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole))
