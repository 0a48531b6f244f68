"""News are shown once after an update, and not at the first start."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMenu, QTextBrowser

from desktop_agent.app.startup.news import beginning_of, changelog_path, is_update, part_since
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.parts import visible_texts
from tests.servers.threaded import in_thread
from tests.servers.web_server import Canned, WebServer

LOG = "# Changelog\n\nIts form.\n\n## [Unreleased]\n\n- d\n\n## [0.10.0] - x\n\n- c\n- b\n\n## [0.9.0] - x\n\n- a\n"


@pytest.mark.parametrize(
    ("version", "entries"), [("0.9.0", "dcb"), ("0.10.0", "d"), ("0.1.0", "dcba"), ("9.0.0", "d"), ("", "d")]
)
def test_new_is_what_is_above_the_version_that_was_started_last(version: str, entries: str) -> None:
    part = part_since(LOG, version)
    assert part.startswith("## [Unreleased]")
    assert [line[2:] for line in part.splitlines() if line.startswith("- ")] == list(entries)


def test_a_long_part_ends_with_a_whole_entry() -> None:
    entries = "".join(f"- entry {number}\n  goes on\n" for number in range(10))
    shown, left_out = beginning_of(entries, 7)
    assert (shown.splitlines()[-2:], left_out) == (["- entry 2", "  goes on"], 7)
    assert beginning_of("- one", 7) == ("- one", 0)


def test_an_update_is_a_newer_version_after_a_known_one() -> None:
    known = [("0.2.0", "0.1.0"), ("0.10.0", "0.9.9"), ("0.1.0", "0.1.0"), ("0.1.0", "0.2.0"), ("0.1.0", "")]
    assert [is_update(*each) for each in known] == [True, True, False, False, False]


def test_the_changelog_has_a_part_for_this_version() -> None:
    assert part_since(changelog_path().read_text(encoding="utf-8"), "0.0.1").startswith("## [")


@pytest.mark.usefixtures("qapp")
def test_an_update_is_told_of_and_every_action_is_in_the_menu(go: Go, project: Path) -> None:
    layout = AppPaths.from_environment().config / "window.ini"
    layout.parent.mkdir(parents=True)
    before = QSettings(str(layout), QSettings.Format.IniFormat)
    before.setValue("version", "0.0.1")
    before.sync()

    async def journey(user: Driver) -> None:
        window = user.window.main_window
        await user.click("readNewsButton")
        text = await user.see(QTextBrowser, "newsText")
        assert text.toPlainText().startswith("[Unreleased]")
        text.window().close()
        assert not user.window.panels.conversation.news_bar.isVisible()
        assert window.memory.news("version") == __version__
        menu = window.top_bar.findChild(QMenu, "mainMenu")
        assert menu is not None
        in_menus = {action.objectName() for each in (menu, *menu.findChildren(QMenu)) for action in each.actions()}
        assert {action.objectName() for action in window.actions_.all} <= in_menus

    go([str(project), "--provider", "demo"], journey)


def test_a_newer_version_is_looked_for_once_a_day_at_the_address_of_the_user_and_told(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    page = "https://releases.example/v99.1.0"

    async def told(user: Driver) -> None:
        bar = user.window.panels.conversation.news_bar
        await user.until_true(lambda: "Desktop Agent 99.1.0 is available." in visible_texts(bar), "it is told")
        await user.click("openReleaseButton")
        assert opened == [QUrl(page)]
        assert not bar.isVisible()

    async def nothing(user: Driver) -> None:
        assert not user.window.panels.conversation.news_bar.isVisible()

    with releases(f'{{"tag_name": "v99.1.0", "html_url": "{page}"}}') as server:
        go([str(project), "--provider", "demo"], nothing)
        assert server.requests == []
        ask_at(server)
        go([str(project), "--provider", "demo"], told)
        go([str(project), "--provider", "demo"], nothing)
        assert server.paths == ["/releases/latest"]


@pytest.mark.parametrize(
    "answer",
    [
        f'{{"tag_name": "v{__version__}", "html_url": "https://releases.example"}}',
        '{"tag_name": "<b>nightly</b>"}',
        "nothing",
    ],
)
def test_no_other_answer_is_told(go: Go, project: Path, answer: str, expected_logs: list[str]) -> None:
    expected_logs.append("No newer version was looked for")

    async def journey(user: Driver) -> None:
        await user.until_true(lambda: bool(server.requests), "it was asked")
        assert not user.window.panels.conversation.news_bar.isVisible()

    with releases(answer) as server:
        ask_at(server)
        go([str(project), "--provider", "demo"], journey)


@contextmanager
def releases(answer: str) -> Generator[WebServer]:
    with in_thread(WebServer({"/releases/latest": Canned(answer, "application/json")})) as (server, _):
        yield server


def ask_at(server: WebServer) -> None:
    settings = AppPaths.from_environment().settings_file()
    save_setting(settings, "ui.release_address", f"{server.url}/releases/latest")
