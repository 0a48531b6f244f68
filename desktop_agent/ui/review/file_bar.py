"""The bar above the diff: the file, the number of changes, the tool call behind them, and how they are shown."""

from typing import Literal

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.diff.rows import DiffRows, RowMode
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import HunkChoice
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.translation.core_words import plural
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox
from desktop_agent.ui.wording.visible_text import encoding_name, plain_tooltip

_HEIGHT = 38
_NAME_WIDTH = 140
"""A longer name is cut to make room for the toggles."""

EditStage = Literal["reading", "editing", "asking", "saving", "stale"]


class FileBar(QWidget):
    mode_chosen = Signal(str)  # a `RowMode`
    decided = Signal(str)  # a `HunkChoice` for the whole file, for files without hunks

    def __init__(self, theme: Theme, keys: PartKeys, *, can_enlarge: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self._keys = keys
        self._can_enlarge = can_enlarge
        self.setFixedHeight(_HEIGHT)
        self._name = ElidedLabel(Qt.TextElideMode.ElideMiddle)
        self._encoding, self._count = make_label(role="secondary"), make_label(role="secondary")
        self._note = ElidedLabel(role="secondary")
        self.call = compact_button(object_name="showCallButton", variant="flat")
        self.call.setToolTip(self.tr("Show the call behind this change"))
        self.edit = compact_button(self.tr("Edit"), "editFileButton", variant="flat")
        self.mode, self.wrap, self.enlarge = (
            compact_button(words, name, variant="flat", is_checkable=True)
            for words, name in (
                (self.tr("Side by side"), "diffModeButton"),
                (self.tr("Wrap lines"), "wrapLinesButton"),
                (self.tr("Whole window"), "enlargeReviewButton"),
            )
        )
        self.discard = compact_button(self.tr("Discard"), "discardEditButton", variant="destructive")
        self.keep_editing = compact_button(self.tr("Keep editing"), "continueEditButton")
        self.cancel = compact_button(self.tr("Cancel"), "cancelEditButton", tooltip=self.tr("Stop editing (Esc)"))
        self.save = compact_button(self.tr("Save"), "saveEditButton", variant="primary")
        self.save.setToolTip(self.tr("Write the file (Ctrl+S)"))
        decide = self._on_decided
        self._undo = compact_button(self.tr("Undo"), "undoShownFileButton", clicked=decide, variant="destructive")
        self._redo = compact_button("", "redoShownFileButton", clicked=decide)
        self._keep = compact_button(object_name="keepShownFileButton", clicked=decide, variant="good")
        self._update_font()
        self._stage: EditStage = "reading"
        self._is_edit_offered = False
        self._is_text_shown = True
        self._is_undone = False
        self._view: DiffView | None = None
        words = self._name, self._encoding, self._count, self.call, self._note
        self._toggles = self.mode, self.wrap, self.enlarge
        editing = self.edit, self.discard, self.keep_editing, self.cancel, self.save
        buttons = *editing, self._undo, self._redo, self._keep, *self._toggles
        hbox(*words, STRETCH, *buttons, on=self, margins=(Space.M, 0, Space.S, 0), spacing=Space.S)
        self.show_editing("reading")
        theme.changed.connect(self._update_font)

    def set_file(self, path: str, call: str) -> None:
        self._name.setText(path.rpartition("/")[2])
        self._name.setToolTip(plain_tooltip(path))
        self.call.setText(call)
        self.call.setAccessibleName(self.tr("Show the call: {0}").format(call))
        self._show_widgets()

    def show_counts(
        self, rows: DiffRows, *, kept: int = 0, undone: int = 0, committed: int = 0, is_offered: bool = False
    ) -> None:
        count, diff = len(rows.changes), rows.diff
        encoding = diff.new_encoding if diff.new_lines else diff.old_encoding
        self._encoding.setText(encoding_name(encoding) if encoding != "utf-8" else "")
        parts = [plural("FileBar", count, "%n change", "%n changes")]
        if kept:
            parts.append(self.tr("{0} kept").format(kept))
        if undone:
            parts.append((self.tr("{0} not brought back") if is_offered else self.tr("{0} undone")).format(undone))
        if committed:
            parts.append(self.tr("{0} committed").format(committed))
        self._redo.setText(self.tr("Bring back") if is_offered else self.tr("Redo"))
        self._count.setText(" · ".join(parts) if count else "")
        self._is_undone = 0 < count == undone
        is_kept = not self._is_undone and 0 < count == kept + undone
        self._keep.setText(self.tr("✓ Kept") if is_kept else self.tr("Keep"))
        self._keep.setToolTip(self.tr("Decide later") if is_kept else self.tr("Keep this file"))
        self._show_widgets()

    def set_text_shown(self, *, is_shown: bool) -> None:
        self._is_text_shown = is_shown
        self._show_widgets()

    def set_undo_obstacle(self, obstacle: str) -> None:
        for button, words in ((self._undo, self.tr("Undo this file")), (self._redo, self.tr("Redo this change"))):
            button.setEnabled(not obstacle)
            button.setToolTip(obstacle or words)

    def attach(self, view: DiffView) -> None:
        self._view = view
        self.mode.clicked.connect(self._toggle_mode)
        self.wrap.clicked.connect(view.toggle_wrapping)
        view.keys.changed.connect(self.show_mode)
        view.mode_changed.connect(self.show_mode)
        self.show_mode()

    def _toggle_mode(self) -> None:
        assert self._view is not None
        mode: RowMode = "unified" if self._view.document.mode == "side_by_side" else "side_by_side"
        self._view.set_mode(mode)
        self.show_mode()
        self.mode_chosen.emit(mode)

    def show_mode(self) -> None:
        assert self._view is not None
        document, scroller = self._view.document, self._view.scroller
        obstacle = document.mode_obstacle()
        self.mode.setChecked(document.mode == "side_by_side")
        self.mode.setEnabled(not obstacle)
        self.mode.setToolTip(obstacle or self.tr("Show the old and the new lines in two columns"))
        words = self._view.keys.hint(self.tr("Wrap long lines instead of scrolling sideways"), "wrap")
        self.wrap.setChecked(scroller.wraps)
        self.wrap.setEnabled(not scroller.is_too_large)
        self.wrap.setToolTip(self.tr("This diff is too large to wrap its lines") if scroller.is_too_large else words)
        self._show_widgets()

    def set_enlarged(self, keys: str, *, is_enlarged: bool) -> None:
        """Show whether the review has the whole window, and the keys that change it."""
        self.enlarge.setChecked(is_enlarged)
        words = self.tr("Show only the review (Esc shows everything again)")
        self.enlarge.setToolTip(f"{words} ({keys})" if keys else words)

    def set_edit_obstacle(self, obstacle: str, *, is_offered: bool) -> None:
        self._is_edit_offered = is_offered
        self.edit.setEnabled(not obstacle)
        self.edit.setToolTip(obstacle or self._keys.hint(self.tr("Edit the file here"), "edit"))
        self._show_widgets()

    def take_keyboard(self) -> None:
        button = self._redo if self._is_undone else self._keep
        button.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def show_editing(self, stage: EditStage, note: str = "") -> None:
        self._stage = stage
        self._note.setText(note)
        self._note.setToolTip(plain_tooltip(note))
        self.save.setEnabled(stage == "editing")
        self._show_widgets()

    def _show_widgets(self) -> None:
        is_reading, is_asking = self._stage == "reading", self._stage == "asking"
        is_editing = not is_reading and not is_asking
        is_text, is_picture = is_reading and self._is_text_shown, is_reading and not self._is_text_shown
        shown: dict[QWidget, bool] = {
            self.edit: is_text and self._is_edit_offered,
            self._redo: is_picture and self._is_undone,
            self._undo: is_picture and not self._is_undone,
            self._keep: is_picture and not self._is_undone,
            self.discard: is_asking,
            self.keep_editing: is_asking,
            self.cancel: is_editing,
            self.save: is_editing,
        }
        room = self.width() - sum(each.sizeHint().width() + Space.S for each, is_shown in shown.items() if is_shown)
        room -= 2 * Space.M + self._name.sizeHint().width()
        cut = max(0, self._name.sizeHint().width() - _NAME_WIDTH)
        shown |= _what_fits({self.enlarge: self._can_enlarge, self.mode: is_text, self.wrap: is_text}, room + cut)
        room -= sum(each.sizeHint().width() + Space.S for each in self._toggles if shown[each])
        words = self._encoding, self._count, self.call
        labels: dict[QWidget, bool] = {each: is_reading and bool(each.text()) for each in words}
        shown |= _what_fits(labels, room)
        shown[self._note] = bool(self._note.toolTip())
        # Hide first, then show: showing both at once would widen the panel for good.
        for widget in sorted(shown, key=shown.__getitem__):
            widget.setVisible(shown[widget])

    def minimumSizeHint(self) -> QSize:
        least = super().minimumSizeHint()
        optional = [each for each in (*self._toggles, self._encoding, self._count, self.call) if each.isVisibleTo(self)]
        return least - QSize(sum(each.minimumSizeHint().width() + Space.S for each in optional), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_widgets()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), self._theme.colour("surface"))
            painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.colour("border"))

    def _on_decided(self) -> None:
        choices: dict[object, HunkChoice] = {self._keep: "keep", self._undo: "undo", self._redo: "redo"}
        self.decided.emit(choices[self.sender()])

    def _update_font(self) -> None:
        font = self._theme.code_font(TypeSize.CODE)
        font.setBold(True)
        self._name.setFont(font)


def _what_fits(wanted: dict[QWidget, bool], room: int) -> dict[QWidget, bool]:
    """Return which of the wanted widgets fit. The first has priority over the second, and so on."""
    fits: dict[QWidget, bool] = {}
    for widget, is_wanted in wanted.items():
        room -= widget.sizeHint().width() + Space.S if is_wanted else 0
        fits[widget] = is_wanted and room >= 0
    return fits
