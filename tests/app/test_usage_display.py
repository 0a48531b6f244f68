"""*Usage* in the real application: opened from the menu, read from journals without blocking."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt, QTranslator
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel

from desktop_agent.core.base.paths import AppPaths, resource_path
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.ui.usage.usage_window import FigureTable, UsageWindow
from tests.app.conftest import Go
from tests.core.usage.written import begun, called, opened_in, over, used, write_timed
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


def write(number: int, *, days_ago: int) -> None:
    paths = AppPaths.from_environment()
    events = [opened_in("/srv/shop"), begun(1), *called(2, "a"), used(3, 0.5), over(4)]
    since = datetime.now(UTC) - timedelta(days=days_ago, seconds=60)
    path = paths.sessions / f"20261122-1000{number:02}-abcdef" / "journal.jsonl"
    write_timed(path, Blobs(paths.blobs), events, since=since)


def rows(window: UsageWindow) -> int:
    return sum(table.figures.rowCount() for table in window.findChildren(FigureTable) if table.isVisible())


def test_the_usage_of_all_sessions_is_shown_for_a_period_or_why_it_cannot_be_read(go: Go, project: Path) -> None:
    write(1, days_ago=2)
    write(2, days_ago=40)

    async def journey(user: Driver) -> None:
        main = user.window.main_window
        main.actions_.usage.trigger()
        window = await user.see(UsageWindow, "usageWindow")
        await user.until_true(lambda: rows(window) == 1, "the last 30 days are shown")
        assert not window.isModal()
        window.findChildren(QComboBox, "usagePeriod")[0].setCurrentIndex(3)
        await user.until_true(lambda: rows(window) == 2, "all days are shown")
        main.actions_.usage.trigger()
        assert len(main.findChildren(UsageWindow)) == 1
        window.findChildren(QAbstractButton, "usageByFolderButton")[0].click()
        await user.until_true(lambda: rows(window) == 1, "the folder is shown")
        QTest.keyClick(window, Qt.Key.Key_Escape)
        await user.until_true(lambda: not main.findChildren(UsageWindow), "the window is gone")
        user.composer.controls.cost.clicked.emit()
        (await user.see(UsageWindow, "usageWindow")).close()
        sessions = AppPaths.from_environment().sessions
        moved = sessions.rename(sessions.with_name("moved"))
        sessions.symlink_to(sessions)  # a folder that leads to itself cannot be read, not even by root
        main.actions_.usage.trigger()
        window = await user.see(UsageWindow, "usageWindow")
        state = window.findChildren(QLabel, "usageState")[0]
        await user.until_true(lambda: "could not be listed" in state.text(), "what is wrong is said")
        window.close()
        german = QTranslator(main)
        assert german.load(str(resource_path("translations", "desktop_agent_de.qm")))
        QCoreApplication.installTranslator(german)
        try:
            main.actions_.usage.trigger()
            window = await user.see(UsageWindow, "usageWindow")
            state = window.findChildren(QLabel, "usageState")[0]
            await user.until_true(
                lambda: "Rechte des Datenordners" in state.text(), "it is said in the language of the window"
            )
            window.close()
        finally:
            QCoreApplication.removeTranslator(german)
        sessions.unlink()
        moved.rename(sessions)

    go([str(project)], journey)
