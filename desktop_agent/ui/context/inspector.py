"""“What the model sees”: the next request part by part, the summary to rewrite or take back, and the pins."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

from desktop_agent.core.context.summaries import from_headings, summary_text
from desktop_agent.core.protocol.model import CacheMiss, ContextReport, ContextSection, Pin
from desktop_agent.core.protocol.ops import AddPin, Compact, EditSummary, RemovePin, UndoCompaction
from desktop_agent.ui.context.bar import ContextBar
from desktop_agent.ui.context.context_words import section_hint, section_name
from desktop_agent.ui.context.long_text import LongText
from desktop_agent.ui.context.pin_list import PinList
from desktop_agent.ui.context.section_list import SectionList
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.context_meter import counted
from desktop_agent.ui.widgets.dialogs import set_up_dialog
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import Stretch, hairline, hbox, vbox
from desktop_agent.ui.widgets.screen_room import resize_within_screen
from desktop_agent.ui.wording.cache_words import cache_miss_words

_LEAST_TEXT_HEIGHT = 40
"""Small screens have no more room for it."""


class ContextInspector(QDialog):
    """Open it with `open()`. It shows what it is given, and emits what the user asks for.

    Signals:
        op_requested: the session should carry this `Op` out.
    """

    op_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_up_dialog(self, "contextInspector", self.tr("What the model sees"))
        self._report: ContextReport | None = None
        self._wanted = ""
        """The kind of part to show as soon as there is something to show."""
        self._use = make_label(role="secondary", object_name="contextUse")
        self._missed = make_label(role="secondary", object_name="contextCacheMiss", wraps=True, is_plain=True)
        self._missed.hide()
        self._bar = ContextBar(theme)
        self._list = SectionList(theme)
        self._list.section_chosen.connect(self._show_section)
        self._name = make_label(role="strong", is_plain=True)
        self._hint = make_label(role="secondary", wraps=True, is_plain=True)
        self._text = LongText()
        self._text.setObjectName("contextText")
        self._text.setAccessibleName(self.tr("Text of this part"))
        self._text.setFont(theme.code_font())
        self._text.setMinimumHeight(_LEAST_TEXT_HEIGHT)
        self._text.textChanged.connect(self._on_text)
        self._save = make_button(self.tr("Save summary"), object_name="saveSummaryButton", clicked=self._save_summary)
        self._undo = make_button(self.tr("Undo summary"), object_name="undoSummaryButton", clicked=self._undo_summary)
        self._undo.setToolTip(self.tr("The agent sees the older turns word by word again"))
        self._pins = PinList()
        self._pins.added.connect(self._add_pin)
        self._pins.removed.connect(self._remove_pin)
        self._focus = QLineEdit()
        self._focus.setObjectName("compactFocus")
        self._focus.setPlaceholderText(self.tr("Keep above all… (optional)"))
        self._focus.setAccessibleName(self.tr("What the summary should keep above all"))
        self._focus.returnPressed.connect(self._compact)
        self._compact_button = make_button(
            self.tr("Summarise older turns"), object_name="compactButton", clicked=self._compact
        )
        self._lay_out()
        resize_within_screen(self, QSize(860, 620))

    def show_report(self, report: ContextReport, pins: Sequence[Pin], *, is_working: bool) -> None:
        """Show these parts and pins. While the agent is working, the summary stays as it is."""
        self._report = report
        use, percent = report.use, round(100 * report.use.tokens / max(report.use.window, 1))
        words = self.tr("{0} of {1} tokens, {2} %").format(counted(use.tokens), counted(use.window), percent)
        if report.target:
            words += " · " + self.tr("older turns are summarised from {0} on").format(counted(report.target))
        else:
            words += " · " + self.tr("older turns are summarised only when you ask")
        self._use.setText(words)
        self._bar.show_report(report)
        self._bar.setAccessibleName(words)
        is_editing = self._text.document().isModified() and not self._text.isReadOnly()
        self._list.blockSignals(is_editing)  # what the user is writing stays
        self._list.show_sections(report.sections)
        self._list.blockSignals(False)
        if self._wanted:
            self._list.choose(self._wanted)
            self._wanted = ""
        self._pins.show_pins(pins)
        for control in (self._compact_button, self._focus, self._undo):
            control.setEnabled(not is_working)
        self._on_text()

    def show_cache_miss(self, missed: CacheMiss | None) -> None:
        """Say what of the last turn was not in the provider's cache, if there was something."""
        self._missed.setText(cache_miss_words(missed) if missed is not None else "")
        self._missed.setVisible(missed is not None)

    def show_part(self, kind: str) -> None:
        """Show the part of this kind; `pins` goes to the field that adds one."""
        self._wanted = kind
        if self._report is not None:
            self._list.choose(kind)

    # -- what is shown --

    def _show_section(self, section: ContextSection) -> None:
        is_summary = section.kind == "summary"
        self._name.setText(section_name(section))
        self._hint.setText(section_hint(section) + self._left_out(section))
        self._text.show_text(self._summary_text() if is_summary else section.text, is_editable=is_summary)
        self._text.setVisible(section.kind not in ("pins", "pictures"))
        self._save.setVisible(is_summary)
        self._undo.setVisible(is_summary)
        self._on_text()

    def _left_out(self, section: ContextSection) -> str:
        """Say what the tools of this request are without."""
        report = self._report
        if section.kind != "tools" or report is None or not report.deferred_tools:
            return ""
        words = self.tr(
            "{0} more of MCP servers, about {1} tokens, are left to a search: the agent finds what it needs."
        )
        return " " + words.format(counted(len(report.deferred_tools)), counted(report.deferred_tokens))

    def _summary_text(self) -> str:
        summary = self._report.summary if self._report is not None else None
        return summary_text(summary) if summary is not None else ""

    def _on_text(self) -> None:
        is_changed = not self._text.isReadOnly() and self._text.document().isModified()
        self._save.setEnabled(is_changed and self._compact_button.isEnabled())

    # -- what the user does --

    def _save_summary(self) -> None:
        summary = from_headings(self._text.toPlainText())
        if summary is None:
            self._hint.setText(
                self.tr("Nothing was saved: write each point as a line “- …” under one of the headings.")
            )
            return
        self._text.document().setModified(False)
        self._on_text()
        self.op_requested.emit(EditSummary(summary=summary))

    def _undo_summary(self) -> None:
        self._text.document().setModified(False)
        self.op_requested.emit(UndoCompaction())

    def _compact(self) -> None:
        if self._compact_button.isEnabled():
            self.op_requested.emit(Compact(focus=self._focus.text().strip()))
            self._focus.clear()

    def _add_pin(self, text: str, ttl_s: float | None) -> None:
        self.op_requested.emit(AddPin(text=text, ttl_s=ttl_s))

    def _remove_pin(self, pin_id: str) -> None:
        self.op_requested.emit(RemovePin(pin_id=pin_id))

    # -- building --

    def _lay_out(self) -> None:
        title = make_label(self.windowTitle(), role="title")
        margins = (Space.XL, Space.L, Space.XL, Space.M)
        head = vbox(title, self._use, self._bar, self._missed, margins=margins, spacing=Space.S)
        buttons = hbox(self._save, self._undo, Stretch(1), spacing=Space.S)
        part = vbox(
            self._name,
            self._hint,
            (self._text, 1),
            buttons,
            Space.S,
            make_label(self.tr("Pins"), role="strong"),
            self._pins,
            margins=(Space.M, 0, Space.XL, Space.M),
            spacing=Space.S,
        )
        body = hbox(self._list, (part, 1), margins=(Space.XL, Space.M, 0, 0))
        close = make_button(self.tr("Close"), clicked=self.accept)
        margins = (Space.XL, Space.M, Space.XL, Space.M)
        foot = hbox((self._focus, 1), self._compact_button, Space.L, close, margins=margins, spacing=Space.S)
        vbox(head, hairline(), (body, 1), hairline(), foot, on=self)
