"""A keyring that waits for ever does not hold the window: it opens, says what it waits for, and quits."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QDialog, QLabel

from tests.app.conftest import Go, go
from tests.attacks.keyrings.conftest import bus, secret_service
from tests.attacks.keyrings.service import Mode
from tests.e2e.driver import Driver

__all__ = ["bus", "go", "secret_service"]

pytestmark = pytest.mark.usefixtures("qapp")

Start = Callable[[Mode], None]


def words(dialog: QDialog) -> str:
    return "\n".join(label.text() for label in dialog.findChildren(QLabel) if label.isVisible())


def test_the_window_quits_while_the_keyring_waits_for_the_user(go: Go, secret_service: Start, tmp_path: Path) -> None:
    secret_service("locked")

    async def journey(person: Driver) -> None:
        await person.until_true(lambda: "Waiting for the keyring" in " ".join(person.banner), "it says so")

    go([], journey)
