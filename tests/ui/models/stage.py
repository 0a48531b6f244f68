"""Accounts with models, and a picker at a button."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QListView, QPlainTextEdit, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.models.known_model import KnownModel, Rates
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.ui.models.model_offers import AccountOffers, ModelKey, ModelOffer
from desktop_agent.ui.models.model_picker import KeptList, KeptModel, ModelPicker
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.icons import Icons
from tests.parts import part

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
SONNET = ModelKey("anthropic", "", "sonnet-5")
OPUS = ModelKey("anthropic", "", "opus-5")
WORK_OPUS = ModelKey("anthropic", "work", "opus-5")
QWEN = ModelKey("openrouter", "", "qwen/qwen3-coder")


def offer(
    key: ModelKey,
    label: str = "",
    tokens: int | None = None,
    price: tuple[float, float] | None = None,
    efforts: tuple[str, ...] = (),
) -> ModelOffer:
    rates = Rates(input=price[0], output=price[1]) if price is not None else None
    known = KnownModel(
        provider=key.provider, name=key.model, label=label, context_tokens=tokens, price=rates, efforts=efforts
    )
    return ModelOffer(key, known)


ANTHROPIC = AccountOffers(
    provider="anthropic",
    label="Anthropic",
    models=(offer(SONNET, "Claude Sonnet 5", 200_000, (3, 15)), offer(OPUS, "Claude Opus 5", 200_000, (15, 75))),
    is_listing=True,
    listed_at=NOW - timedelta(days=3),
)
WORK = AccountOffers(
    provider="anthropic",
    account="work",
    label="Anthropic (work)",
    models=(offer(WORK_OPUS, "Claude Opus 5"),),
    is_listing=True,
)
ROUTER = AccountOffers(
    provider="openrouter", label="OpenRouter", models=(offer(QWEN, price=(0, 0)),), is_listing=True, listed_at=NOW
)
NO_KEY = AccountOffers(provider="openai", label="OpenAI", is_connected=False)
DEMO = AccountOffers(
    provider="demo", label="Demo", models=(offer(ModelKey("demo", "", "demo"), "Demo model"),), is_fixed=True
)
ALL = (ANTHROPIC, WORK, ROUTER, NO_KEY, DEMO)


class Memory:
    def __init__(self) -> None:
        self.kept: dict[KeptList, Sequence[KeptModel]] = {}

    def models(self, name: KeptList) -> Sequence[KeptModel]:
        return self.kept.get(name, ())

    def remember_models(self, name: KeptList, models: Sequence[KeptModel]) -> None:
        self.kept[name] = models


class Desk:
    def __init__(self, theme: Theme, qtbot: QtBot, accounts: Sequence[AccountOffers] = ALL) -> None:
        self.window = QWidget()
        self.window.resize(900, 700)
        qtbot.addWidget(self.window)
        self.message = QPlainTextEdit(self.window)
        self.message.setGeometry(20, 600, 700, 60)
        self.button = QToolButton(self.window)
        self.button.setText("Model")
        self.button.setGeometry(20, 665, 120, 24)
        self.icons = Icons(theme)
        self.icons.load()
        self.memory = Memory()
        self.picker = ModelPicker(
            self.window, self.button, self.message, theme, self.icons, self.memory, now=lambda: NOW
        )
        self.picker.show_accounts(accounts)
        self.picker.show_model(ModelRef(provider="anthropic", model="sonnet-5"))
        self.window.show()
        self.window.activateWindow()
        qtbot.waitUntil(self.window.isActiveWindow)
        self.message.setFocus()

    @property
    def popup(self) -> QWidget | None:
        found = self.window.findChild(QWidget, "modelPopup")
        return found if found is not None and found.isVisible() else None

    @property
    def field(self) -> QLineEdit:
        return part(self.window, QLineEdit, "modelSearch")

    @property
    def rows(self) -> QListView:
        return part(self.window, QListView, "modelList")

    @property
    def is_open(self) -> bool:
        return self.popup is not None

    @property
    def texts(self) -> list[str]:
        model = self.rows.model()
        return [str(model.index(row, 0).data()) for row in range(model.rowCount())]

    @property
    def current(self) -> str:
        return str(self.rows.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole))

    @property
    def age(self) -> str:
        return part(self.window, QLabel, "modelListAge").text()

    @property
    def refresh(self) -> QPushButton:
        return part(self.window, QPushButton, "refreshModelsButton")

    def open(self) -> None:
        QTest.mouseClick(self.button, Qt.MouseButton.LeftButton)

    def type(self, text: str) -> None:
        QTest.keyClicks(self.field, text)

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(self.window.focusWidget(), key, modifiers)
