"""What an undo or redo left alone, and why."""

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QScrollArea, QSizePolicy, QWidget

from desktop_agent.core.protocol.model import FileOutcome
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.dialogs import DIALOG_MARGINS, set_up_dialog
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, scroll_down, vbox

_WIDTH = 520
_LIST_HEIGHT = 240


class UndoConflictDialog(QDialog):
    """Lists the files that an undo or redo did not touch. Open it with `open()`; there is nothing to answer."""

    def __init__(
        self, purpose: Literal["undo", "redo"], outcomes: Sequence[FileOutcome], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        left_alone = [outcome for outcome in outcomes if not outcome.is_done]
        set_up_dialog(self, "undoConflictDialog", self._title(purpose, len(left_alone)))
        self.setMinimumWidth(_WIDTH)
        heading = make_label(self.windowTitle(), role="title", wraps=True)
        done = self._summary(purpose, len(outcomes) - len(left_alone))
        summary = make_label(done, role="secondary", object_name="undoConflictSummary", wraps=True)
        files = _outcome_list(left_alone, self.tr("Files left alone"))
        close = make_button(self.tr("Close"), clicked=self.reject, variant="primary")
        close.setDefault(True)
        vbox(
            heading,
            summary,
            files,
            (close, Qt.AlignmentFlag.AlignRight),
            on=self,
            margins=DIALOG_MARGINS,
            spacing=Space.S,
        )

    def _title(self, purpose: Literal["undo", "redo"], count: int) -> str:
        if purpose == "undo":
            return plural("UndoConflictDialog", count, "%n file was not undone", "%n files were not undone")
        return plural("UndoConflictDialog", count, "%n file was not redone", "%n files were not redone")

    def _summary(self, purpose: Literal["undo", "redo"], done: int) -> str:
        nothing = self.tr("These files were not written.")
        if not done:
            return nothing
        if purpose == "undo":
            rest = plural("UndoConflictDialog", done, "%n other file was undone.", "%n other files were undone.")
        else:
            rest = plural("UndoConflictDialog", done, "%n other file was redone.", "%n other files were redone.")
        return f"{nothing} {rest}"


def _outcome_list(outcomes: Sequence[FileOutcome], name: str) -> QScrollArea:
    content = QWidget()
    lines: list[QWidget] = []
    for outcome in outcomes:
        path = make_label(outcome.path, role="strong", wraps=True, is_plain=True, is_selectable=True)
        reason = make_label(core_words(outcome.reason), role="secondary", wraps=True, is_plain=True, is_selectable=True)
        reason.setContentsMargins(0, 0, 0, Space.S)
        lines += path, reason
    vbox(*lines, STRETCH, on=content, margins=(0, Space.S, Space.S, Space.S), spacing=Space.XS)
    area = QScrollArea()
    scroll_down(area, content)
    area.setMaximumHeight(_LIST_HEIGHT)
    area.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
    area.setAccessibleName(name)
    return area
