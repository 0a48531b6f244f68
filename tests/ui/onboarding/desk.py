"""The welcome dialog, driven by a test, with its requests."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.models.account import Account
from desktop_agent.ui.onboarding.welcome_dialog import OnboardingDialog
from desktop_agent.ui.onboarding.welcome_steps import WelcomeActions
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.question import ChoiceCard
from tests.parts import part


class Desk:
    def __init__(self, app: QApplication, qtbot: QtBot) -> None:
        self.asked: list[str] = []
        self.connected: list[tuple[Account, str]] = []
        self.signed_in: list[tuple[str, str]] = []
        self.begun: list[tuple[Account, str]] = []
        self.agents: list[str] = []
        actions = WelcomeActions(
            start_demo=lambda: self.asked.append("demo"),
            choose_folder=lambda: self.asked.append("folder"),
            look_for_servers=lambda: self.asked.append("servers"),
            connect=lambda account, key: self.connected.append((account, key)),
            sign_in=lambda way, name: self.signed_in.append((way, name)),
            cancel=lambda: self.asked.append("cancel"),
            begin=lambda account, model: self.begun.append((account, model)),
            use_agent=self.agents.append,
        )
        self.dialog = OnboardingDialog(Theme(app, "light"), actions)
        qtbot.addWidget(self.dialog)
        self.dialog.open()
        qtbot.waitExposed(self.dialog)

    def button(self, name: str) -> QPushButton:
        return part(self.dialog, QPushButton, name)

    def click(self, name: str) -> None:
        assert self.button(name).isVisible(), f"{name} is not to be seen"
        QTest.mouseClick(self.button(name), Qt.MouseButton.LeftButton)

    def press(self, key: Qt.Key) -> None:
        QTest.keyClick(self.dialog.focusWidget() or self.dialog, key)

    def type_into(self, name: str, text: str) -> None:
        line = next(line for line in self.dialog.findChildren(QLineEdit, name) if line.isVisible())
        QTest.keyClicks(line, text)

    def card(self, title: str) -> ChoiceCard:
        return next(card for card in self.dialog.findChildren(ChoiceCard) if card.text() == title and card.isVisible())

    def choose(self, title: str) -> None:
        QTest.mouseClick(self.card(title), Qt.MouseButton.LeftButton)

    @property
    def cards(self) -> list[str]:
        return [card.text() for card in self.dialog.findChildren(ChoiceCard) if card.isVisible()]

    @property
    def texts(self) -> str:
        return "\n".join(label.text() for label in self.dialog.findChildren(QLabel) if label.isVisible())

    @property
    def primary(self) -> str:
        names = [
            button.objectName()
            for button in self.dialog.findChildren(QPushButton)
            if button.isVisible() and button.property("variant") == "primary"
        ]
        return names[0] if len(names) == 1 else " ".join(names)

    @property
    def focus(self) -> str:
        widget: QWidget = self.dialog.focusWidget()
        return widget.objectName()

    @property
    def folder(self) -> QLabel:
        return part(self.dialog, QLabel, "onboardingFolder")
