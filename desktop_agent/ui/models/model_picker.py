"""The button that opens the model picker, and its lists of favourite and recent models."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QToolButton, QWidget

from desktop_agent.core.models.vendors import DEMO
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.ui.models.model_offers import AccountOffers, Choices, ModelKey
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.icons import Icons

if TYPE_CHECKING:
    from desktop_agent.ui.models.model_popup import ModelPopup

KeptList = Literal["favourite_models", "recent_models"]
KeptModel = tuple[str, str, str]
"""Provider, account and model."""

_MOST_RECENT = 5


class ModelMemory(Protocol):
    def models(self, name: KeptList) -> Sequence[KeptModel]: ...

    def remember_models(self, name: KeptList, models: Sequence[KeptModel]) -> None: ...


class ModelPicker(QObject):
    opened = Signal()  # the list is about to be shown: update the accounts
    chosen = Signal(object, object)  # a `ModelKey`, and the effort level; None keeps the default
    connect_requested = Signal(object)  # the `AccountOffers` without a credential
    refresh_requested = Signal()
    accounts_shown = Signal(object)  # all `AccountOffers`, whenever they change

    def __init__(
        self,
        over: QWidget,
        button: QToolButton,
        home: QWidget,
        theme: Theme,
        icons: Icons,
        memory: ModelMemory,
        *,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(over)
        self._over = over
        self._button = button
        self._home = home
        self._theme = theme
        self._icons = icons
        self._now = now
        self._popup: ModelPopup | None = None
        self._accounts: tuple[AccountOffers, ...] = ()
        self._current: ModelKey | None = None
        self._effort = ""
        self._memory = memory
        self.favourites = tuple(ModelKey(*model) for model in memory.models("favourite_models"))
        self.recent = tuple(ModelKey(*model) for model in memory.models("recent_models"))[:_MOST_RECENT]
        button.clicked.connect(self.toggle)

    def toggle(self) -> None:
        if self._popup is not None and self._popup.isVisible():
            self._popup.close_popup()
        else:
            self.open()

    def open(self) -> None:
        if not (self._button.isVisible() and self._button.isEnabled()):
            return
        self.opened.emit()
        popup = self._popup = self._popup or self._build()
        self._show()
        popup.open_popup()

    def show_accounts(self, accounts: Sequence[AccountOffers]) -> None:
        self._accounts = tuple(accounts)
        self._show()
        self.accounts_shown.emit(self._accounts)

    def show_model(self, model: ModelRef) -> None:
        self._current = ModelKey(model.provider, model.account, model.model)
        self._effort = model.effort
        self._show()

    def note_use(self) -> None:
        key = self._current
        if key is not None and key.provider != DEMO and self.recent[:1] != (key,):
            self.recent = (key, *(kept for kept in self.recent if kept != key))[:_MOST_RECENT]
            self._keep("recent_models", self.recent)

    def _toggle_favourite(self, key: ModelKey) -> None:
        others = tuple(kept for kept in self.favourites if kept != key)
        self.favourites = others if len(others) < len(self.favourites) else (*others, key)
        self._keep("favourite_models", self.favourites)

    def _keep(self, name: KeptList, keys: Sequence[ModelKey]) -> None:
        self._memory.remember_models(name, [(key.provider, key.account, key.model) for key in keys])
        self._show()

    def _build(self) -> "ModelPopup":
        from desktop_agent.ui.models.model_popup import ModelPopup  # after the first paint

        popup = ModelPopup(self._theme, self._icons, self._over, self._button, now=self._now)
        popup.chosen.connect(self.chosen)
        popup.connect_requested.connect(self.connect_requested)
        popup.refresh_requested.connect(self.refresh_requested)
        popup.favourite_toggled.connect(self._toggle_favourite)
        popup.closing.connect(self._home.setFocus)
        return popup

    def _show(self) -> None:
        if self._popup is not None:
            choices = Choices(
                accounts=self._accounts,
                favourites=self.favourites,
                recent=self.recent,
                current=self._current,
                effort=self._effort,
            )
            self._popup.show_choices(choices)
