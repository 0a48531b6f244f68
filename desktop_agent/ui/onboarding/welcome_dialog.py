"""The first dialog: leads step by step to a tested connection to a model."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QScrollArea, QWidget

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.vendors import LocalServer
from desktop_agent.ui.onboarding.welcome_steps import (
    DEMO_WAY,
    AddressStep,
    ChooseStep,
    CloudStep,
    Connected,
    DoneStep,
    Found,
    KeyStep,
    LocalStep,
    OtherStep,
    Step,
    SubscriptionStep,
    WaitingStep,
    WelcomeActions,
)
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import error_words
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, Note
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, resize_within_screen, scroll_down, set_names, vbox
from desktop_agent.ui.widgets.question import ChoiceCard
from desktop_agent.ui.wording import plain_tooltip, short_path

_foot_tr = partial(QCoreApplication.translate, "OnboardingFoot")

_WIDTH = 540
_FOLDER_WIDTH = 220


class OnboardingDialog(QDialog):
    def __init__(self, theme: Theme, actions: WelcomeActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_names(self, "onboardingDialog", self.tr("Welcome"))
        self.setWindowTitle(self.tr("Welcome"))
        self.setModal(True)
        self._actions = actions
        self._choose = ChooseStep(theme, actions)
        self._key = KeyStep(actions)
        self._local = LocalStep(theme, actions)
        self._subscription = SubscriptionStep(theme, actions)
        self._other = OtherStep(theme, actions)
        self._address = AddressStep(actions)
        self._cloud = CloudStep(actions)
        self._waiting = WaitingStep()
        self._done = DoneStep(actions)
        self._steps: dict[str, Step] = {
            "choose": self._choose, "key": self._key, "local": self._local, "subscription": self._subscription,
            "other": self._other, "address": self._address, "cloud": self._cloud, "waiting": self._waiting,
            "done": self._done,
        }  # fmt: skip
        self._way: list[Step] = [self._choose]
        self._is_busy = False
        self._content = QWidget()
        self._scroll = QScrollArea()
        self._said = Note(object_name="welcomeNote")
        self._foot = QWidget()
        self._foot.setAutoFillBackground(True)
        self._back = make_button(_foot_tr("Back"), "backButton", clicked=self._on_back)
        self._folder = ElidedLabel(Qt.TextElideMode.ElideMiddle, role="secondary", object_name="onboardingFolder")
        self._choose_folder = make_button(
            _foot_tr("Choose folder…"), "chooseFolderButton", clicked=actions.choose_folder
        )
        self.set_folder(None)
        self._lay_out()
        self.finished.connect(self._on_finished)
        for step in self._steps.values():
            step.changed.connect(self._on_changed)
            step.leads_on.connect(self._on_leads_on)
        self._show()
        whole = self._choose.heightForWidth(_WIDTH) + self._foot.sizeHint().height() + 1  # with the line between them
        resize_within_screen(self, QSize(_WIDTH, max(552, whole)), QSize(360, 280))

    def set_folder(self, folder: Path | None) -> None:
        if folder is None:
            self._folder.setText(_foot_tr("No folder chosen yet"))
            self._folder.setToolTip("")
            return
        text = _foot_tr("Folder: {0}").format(short_path(str(folder)))
        self._folder.setText(self._folder.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, _FOLDER_WIDTH))
        self._folder.setToolTip(plain_tooltip(str(folder)))

    def show_found(self, found: Found) -> None:
        self._choose.show_found(found)
        self._key.show_found(found)
        self._subscription.show_found(found)
        self._cloud.show_found(found)

    def show_servers(self, servers: Sequence[LocalServer]) -> None:
        self._local.show_servers(servers)

    def show_busy(self, words: str) -> None:
        self._is_busy = True
        self._say(words)
        if (problem := self._way[-1].problem) is not None:
            problem.say("")
        self._show(begins=False)
        self._back.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_waiting(self, address: str, *, is_open: bool) -> None:
        self._waiting.wait.show_address(address, is_open=is_open)
        self._say("")
        if self._way[-1] is not self._waiting:
            self._way.append(self._waiting)
            self._show(begins=False)
            self._back.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_failure(self, error: AgentError) -> None:
        self._end_work()
        self._say("")
        note = self._way[-1].problem or self._said
        note.say(error_words(error), "error")
        note.setToolTip(plain_tooltip(error.detail))
        note.show()

    def show_connected(self, connected: Connected) -> None:
        self._end_work()
        self._say("")
        for step in self._steps.values():
            step.forget()
        self._done.show_connected(connected)
        self._go(self._done)

    def offer_key(self, key: str) -> None:
        if self._way[-1] not in (self._key, self._address):
            self._go(self._key)
        step = self._way[-1]
        if isinstance(step, KeyStep | AddressStep):
            step.key.offer(key)

    def _lay_out(self) -> None:
        margins = (Space.XL, Space.M, Space.XL, Space.M)
        parts = (self._back, self._folder, STRETCH, self._choose_folder)
        foot = hbox(*parts, on=self._foot, margins=margins, spacing=Space.S)
        for step in self._steps.values():
            step.column.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.M)
            for button in step.buttons:
                foot.addWidget(button)
                button.hide()
        vbox(*self._steps.values(), on=self._content)
        scroll_down(self._scroll, self._content)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # Otherwise it gets the height for its narrowest width, and a useless scroll bar.
        self._content.setMinimumHeight(1)
        self._said.setContentsMargins(Space.XL, 0, Space.XL, Space.M)
        self._said.hide()
        vbox((self._scroll, 1), self._said, hairline(), self._foot, on=self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and (self._is_busy or len(self._way) > 1):
            self._on_back()
        else:
            super().keyPressEvent(event)

    def _go(self, step: Step) -> None:
        self._way.append(step)
        self._show()

    def _show(self, *, begins: bool = True) -> None:
        step = self._way[-1]
        for each in self._steps.values():  # not of the stack, which is as high as its highest page
            each.setVisible(each is step)
        step.setEnabled(not self._is_busy or step is self._waiting)
        self._show_foot()
        if begins:
            self._scroll.verticalScrollBar().setValue(0)
            step.begin()

    def _show_foot(self) -> None:
        is_first, primary = len(self._way) == 1, self._way[-1].primary
        self._back.setVisible(self._is_busy or not is_first)
        self._back.setText(_foot_tr("Cancel") if self._is_busy else _foot_tr("Back"))
        self._folder.setVisible(is_first)
        self._choose_folder.setVisible(is_first)
        for button in (button for step in self._steps.values() for button in step.buttons):
            button.setVisible(button is primary and not self._is_busy)
        if primary is not None and not self._is_busy:
            primary.setDefault(True)

    def _say(self, words: str, role: str = "secondary") -> None:
        self._said.say(words, role)
        self._said.setToolTip("")
        self._said.setVisible(bool(words))

    def _end_work(self) -> None:
        self._is_busy = False
        if self._way[-1] is self._waiting:
            self._way.pop()
        self._show(begins=False)
        self._way[-1].take_focus()

    def _on_changed(self) -> None:
        self._show_foot()
        if not self._is_busy:
            self._say("")  # the message about the earlier input
        focused = self.focusWidget()
        if isinstance(focused, ChoiceCard) and focused.isVisible():
            self._scroll.ensureWidgetVisible(focused)

    def _on_back(self) -> None:
        self._say("")
        if self._is_busy:
            self._actions.cancel()
            self._end_work()
        elif len(self._way) > 1:
            self._way.pop().forget()
            self._show()

    def _on_leads_on(self, name: str) -> None:
        if name == DEMO_WAY:
            self.accept()
            self._actions.start_demo()
        else:
            self._go(self._steps[name])

    def _on_finished(self) -> None:
        self._actions.cancel()
        for step in self._steps.values():
            step.forget()
