"""The buttons at the right of a hunk's bar: comment, undo or redo, keep."""

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QPixmap, QRegion
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.ui.keys.part_keys import PartKeys
from desktop_agent.ui.review.diff.diff_words import HunkChoice, HunkDecisions
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import hbox

_HEIGHT = 22


class HunkActions(QWidget):
    """Offers what can be done about one hunk.

    There are two of them in a diff, for the hunk of the keyboard and the one below the mouse. On all other bars a
    picture of them is painted: a thousand hunks cost no more than two.

    Signals:
        chosen: the user wants this `HunkChoice` for `key`.
    """

    chosen = Signal(str)

    def __init__(self, parent: QWidget, keys: PartKeys) -> None:
        super().__init__(parent)
        self._keys = keys
        self.key: HunkKey = ""
        self.row = -1
        self._is_kept = False
        self._shown: object = None
        self._comment = self._make_button("commentHunkButton")
        self._undo = self._make_button("undoHunkButton", "destructive")
        self._redo = self._make_button("redoHunkButton")
        self._keep = self._make_button("keepHunkButton", "good")
        hbox(self._comment, self._undo, self._redo, self._keep, on=self, spacing=Space.S - 2)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setFixedHeight(_HEIGHT)
        self.hide()

    def _make_button(self, object_name: str, variant: str = "") -> QPushButton:
        return make_button(
            object_name=object_name, clicked=self._on_clicked, variant=variant, is_compact=True, parent=self
        )

    def show_hunk(self, row: int, key: HunkKey, place: str, decisions: HunkDecisions) -> None:
        """Offer what fits the state of the hunk that stands at `place`."""
        self.row, self.key = row, key
        state = decisions.state(key)
        shown = (place, state, decisions.can_revert, decisions.reason)
        if shown == self._shown:
            return
        self._shown = shown
        self._is_kept = state == "kept"
        self._comment.setText(self.tr("Comment"))
        keys = self._keys
        self._undo.setText(self.tr("Undo"))
        self._redo.setText(self.tr("Redo"))
        self._keep.setText(self.tr("✓ Kept") if self._is_kept else self.tr("Keep"))
        self._show_buttons(is_undone=state == "undone")
        self._comment.setToolTip(keys.hint(self.tr("Write a comment on these lines"), "comment"))
        self._keep.setToolTip(
            keys.hint(self.tr("Decide later") if self._is_kept else self.tr("Keep this change"), "keep")
        )
        for button, words in (
            (self._undo, keys.hint(self.tr("Undo this change"), "undo")),
            (self._redo, keys.hint(self.tr("Make this change again"), "redo")),
        ):
            button.setEnabled(decisions.can_revert)
            button.setToolTip(words if decisions.can_revert else decisions.reason or words)
        self._comment.setAccessibleName(self.tr("Comment on {0}").format(place))
        self._undo.setAccessibleName(self.tr("Undo {0}").format(place))
        self._redo.setAccessibleName(self.tr("Redo {0}").format(place))
        self._keep.setAccessibleName((self.tr("Kept: {0}") if self._is_kept else self.tr("Keep {0}")).format(place))
        self.resize(self.sizeHint())

    def _show_buttons(self, *, is_undone: bool) -> None:
        """Show those that fit; the keyboard does not leave the hunk when the button goes that it was on."""
        shown, hidden = ((self._redo,), (self._undo, self._keep))[:: 1 if is_undone else -1]
        for button in shown:
            button.show()
        if any(button.hasFocus() for button in hidden):
            shown[0].setFocus()
        for button in hidden:
            button.hide()

    def picture(self) -> QPixmap:
        """Return how the buttons look, with nothing behind them."""
        self.ensurePolished()
        self.resize(self.sizeHint())
        ratio = self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        self.render(picture, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)
        return picture

    def forget(self) -> None:
        """Look anew at everything the next time: fonts, colours or keys are other ones."""
        self._shown = None

    def sizeHint(self) -> QSize:
        layout = self.layout()
        return layout.sizeHint() if layout else super().sizeHint()

    def _on_clicked(self) -> None:
        keep: HunkChoice = "undecide" if self._is_kept else "keep"
        button = self.sender()
        choices: dict[object, HunkChoice] = {self._comment: "comment", self._undo: "undo", self._redo: "redo"}
        self.chosen.emit(choices.get(button, keep))
