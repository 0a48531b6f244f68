"""Applying code of an answer to a file: which file, where in it, and what that changes. Nothing is written unseen."""

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, QStringListModel, QTimer, Signal
from PySide6.QtWidgets import QCompleter, QDialog, QSizePolicy, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.ops import WriteFile
from desktop_agent.ui.review.code_placing import ApplySource, ApplyTarget, Place, placed, places
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.buttons import Picker, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import DIALOG_MARGINS, STRETCH, answer_with_ctrl_enter, hbox, set_up_dialog, vbox

_SIZE = (760, 560)
_TYPING_MS = 200


class ApplyDialog(QDialog):
    """Shows what writing `code` into a file would change. Show it with `open()`."""

    chosen = Signal(object)  # a `WriteFile`

    def __init__(
        self, theme: Theme, code: str, paths: Sequence[str], source: ApplySource, spawn: Spawn, parent: QWidget
    ) -> None:
        super().__init__(parent)
        set_up_dialog(self, "applyDialog", self.tr("Apply to file"))
        self._code, self._source, self._spawn = code, source, spawn
        self._target: ApplyTarget | None = None
        self._new = ""
        self._asked = 0
        self._file = self._make_field(paths)
        what = self.tr("What the code replaces")
        self._place = Picker(self, object_name="applyPlacePicker", accessible_name=what, min_chars=18)
        self._place.currentIndexChanged.connect(self._compare)
        self._note = make_label(role="secondary", object_name="applyNote", is_plain=True, wraps=True)
        self._view = DiffView(theme)
        self._view.setObjectName("applyDiffView")
        self._apply = make_button(
            self.tr("Write file"), object_name="applyButton", clicked=self._on_apply, variant="primary"
        )
        self._lay_out()
        self._typing = QTimer(self, interval=_TYPING_MS, singleShot=True)
        self._typing.timeout.connect(self._read)
        answer_with_ctrl_enter(self, self._apply)
        self.resize(*(min(wanted, room) for wanted, room in zip(_SIZE, parent.size().toTuple(), strict=True)))
        self._file.setFocus()
        self._read()

    def _make_field(self, paths: Sequence[str]) -> Picker:
        name = self.tr("File, relative to the folder of the conversation")
        field = Picker(self, object_name="applyFileField", accessible_name=name, is_editable=True)
        field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        field.addItems(list(paths))
        self._offers = QStringListModel(self)
        self._completer = completer = QCompleter(self._offers, self)
        completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        field.setCompleter(completer)
        field.edit.setPlaceholderText(self.tr("src/example.py"))
        field.edit.textEdited.connect(self._on_edited)
        completer.activated.connect(self._on_typed)
        field.activated.connect(self._on_typed)
        return field

    def _lay_out(self) -> None:
        cancel = make_button(self.tr("Cancel"), clicked=self.reject)
        label = make_label(self.tr("File"))
        label.setBuddy(self._file)
        vbox(
            make_label(self.tr("Apply to file"), role="title"),
            hbox(label, (self._file, 1), self._place, spacing=Space.S),
            self._note,
            (self._view, 1),
            hbox(STRETCH, cancel, self._apply, spacing=Space.S),
            on=self,
            margins=DIALOG_MARGINS,
            spacing=Space.M,
        )

    def _on_edited(self, typed: str) -> None:
        self._on_typed()
        self._spawn(self._offer(typed))

    def _on_typed(self) -> None:
        self._forget()
        self._typing.start()

    async def _offer(self, typed: str) -> None:
        found = await self._source.offers(typed)
        if isValid(self) and self._file.currentText() == typed:
            self._offers.setStringList(list(found))
            if found and list(found) != [typed]:
                self._completer.complete()

    def _forget(self) -> None:
        self._asked += 1
        self._target = None
        self._apply.setEnabled(False)

    def _read(self) -> None:
        self._forget()
        path = self._file.currentText().strip().removeprefix("./")
        if not path:
            self._say(self.tr("Choose a file"), self.tr("The change is shown here before it is written."))
            return
        self._spawn(self._fetch(path, self._asked))

    async def _fetch(self, path: str, asked: int) -> None:
        try:
            target = await self._source.read(path)
        except AgentError as error:
            if isValid(self) and asked == self._asked:
                self._say(core_words(error.title), core_words(error.hint))
            return
        if not isValid(self) or asked != self._asked:
            return
        self._target = target
        offered = places(target.text, self._code)
        with QSignalBlocker(self._place):
            self._place.clear()
            for place in offered:
                self._place.addItem(self._place_words(place), place)
            self._place.fit()
        self._place.setVisible(len(offered) > 1)
        self._compare()

    # -- the difference --

    def _compare(self) -> None:
        if self._target is None:
            return
        self._asked += 1
        self._apply.setEnabled(False)
        self._new = placed(self._target.text, self._code, self._place.currentData())
        self._spawn(self._show_difference(self._target, self._new, self._asked))

    async def _show_difference(self, target: ApplyTarget, new: str, asked: int) -> None:
        try:
            diff = await self._source.compare(target, new)
        except AgentError as error:
            if isValid(self) and asked == self._asked:
                self._say(core_words(error.title), core_words(error.hint))
            return
        if not isValid(self) or asked != self._asked:
            return
        if new == target.text:
            self._say(self.tr("Nothing to change"), self.tr("The file already contains this."))
            return
        self._view.show_diff(diff)
        obstacle = self._source.obstacle()
        is_new = self.tr("The file does not exist yet. It will be created.") if target.text is None else ""
        self._note.setText(
            obstacle or is_new or self.tr("This counts as your change, and can be undone in the review.")
        )
        self._apply.setEnabled(not obstacle)

    def _say(self, heading: str, detail: str) -> None:
        self._note.setText("")
        self._view.show_message(heading, detail)

    def _place_words(self, place: Place) -> str:
        return {
            "file": self.tr("Whole file"),
            "lines": self.tr("The lines it matches"),
            "end": self.tr("At the end"),
        }[place]

    def _on_apply(self) -> None:
        if self._target is None or not self._apply.isEnabled():
            return
        content = self._new.encode("utf-8")
        self.chosen.emit(WriteFile(path=self._target.path, expected=self._target.digest, content=content))
        self.accept()
