"""The dialog “What the model sees”: the next request part by part, its summary, and the pins."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen, QTextCursor
from PySide6.QtWidgets import (
    QDialog,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QScrollArea,
    QSizePolicy,
    QStyleOptionViewItem,
    QWidget,
)

from desktop_agent.core.context.summaries import from_headings, summary_text
from desktop_agent.core.protocol.model import CacheMiss, ContextReport, ContextSection, Flaw, Pin, SectionKind
from desktop_agent.core.protocol.ops import (
    AddPin,
    Compact,
    EditSummary,
    InspectContext,
    RemovePin,
    SwitchGuidance,
    UndoCompaction,
)
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.buttons import Picker, Switch, compact_button, make_button, make_line
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label, show_text
from desktop_agent.ui.widgets.layouts import (
    Stretch,
    discard_all,
    hairline,
    hbox,
    resize_within_screen,
    scroll_down,
    set_names,
    set_up_dialog,
    vbox,
)
from desktop_agent.ui.widgets.rows import AnyIndex, RowDelegate, draw_ground, set_up_list
from desktop_agent.ui.wording import cache_miss_words, counted, flaw_words, plain_tooltip

_tr = partial(QCoreApplication.translate, "Context")

COLOURS: dict[SectionKind, str] = {
    "tools": "faint", "system": "muted", "guidance": "syntax_function", "summary": "syntax_number",
    "conversation": "accent", "pictures": "syntax_string", "pins": "syntax_keyword",
}  # fmt: skip


def section_name(section: ContextSection) -> str:
    names: dict[SectionKind, str] = {
        "tools": _tr("Tools"),
        "system": _tr("System prompt"),
        "guidance": "/".join(section.name.rsplit("/", 2)[-2:]),
        "summary": _tr("Summary"),
        "conversation": _tr("Conversation"),
        "pictures": _tr("Pictures"),
        "pins": _tr("Pins"),
    }
    return names[section.kind]


def section_hint(section: ContextSection) -> str:
    hints: dict[SectionKind, str] = {
        "tools": _tr("The descriptions of the agent's tools."),
        "system": _tr("The instructions the agent gets before everything else."),
        "guidance": (
            _tr("From {0}. You switched it off, so the agent does not get it.")
            if section.is_off
            else _tr("From {0}. It is read again when a turn begins.")
        ).format(section.name),
        "summary": _tr("Replaces the older turns. You can rewrite it: one point per line, under its heading."),
        "conversation": _tr("Everything that was said, called and returned, in full."),
        "pictures": _tr("The newest pictures of the conversation. Older ones are left out."),
        "pins": _tr("What you pinned. It is sent with every request, after everything else."),
    }
    return hints[section.kind]


_HEIGHT = 10
_TARGET_TICK = 2


class ContextBar(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("contextBar")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self._report: ContextReport | None = None
        theme.changed.connect(self.update)

    def show_report(self, report: ContextReport) -> None:
        self._report = report
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            area = QRectF(self.rect())
            path = QPainterPath()
            path.addRoundedRect(area, _HEIGHT / 2, _HEIGHT / 2)
            painter.setClipPath(path)
            painter.fillRect(area, self._theme.colour("border"))
            report = self._report
            if report is not None:
                sent = [section for section in report.sections if not section.is_off]
                total = max(report.use.window, sum(section.tokens for section in sent), 1)
                x = 0.0
                for section in sent:
                    width = area.width() * section.tokens / total
                    painter.fillRect(
                        QRectF(x, 0, max(width - 1, 1), _HEIGHT), self._theme.colour(COLOURS[section.kind])
                    )
                    x += width
                if report.target:
                    at = area.width() * report.target / total
                    painter.fillRect(QRectF(at, 0, _TARGET_TICK, _HEIGHT), self._theme.colour("text"))


_PIECE = 24_000
_LONGEST_LINE = 8_000
"""The longest line, in characters. Longer ones are broken, because Qt lays out a whole line at once."""


class LongText(QPlainTextEdit):
    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self._text = ""
        self._done = 0
        self._line = 0
        self._timer = one_shot(self, 0, self._put_next)

    @property
    def is_complete(self) -> bool:
        return self._done == len(self._text)

    def show_text(self, text: str, *, is_editable: bool = False) -> None:
        """Editable text is inserted at once and unchanged."""
        is_changed = self.document().isModified()
        if text == self._text and is_editable != self.isReadOnly() and not is_changed:
            return
        if is_editable or is_changed or not self.isReadOnly() or not text.startswith(self._text) or not self._text:
            self._timer.stop()
            self.setReadOnly(not is_editable)
            self.setUndoRedoEnabled(is_editable)
            self.setPlainText(text if is_editable else "")
            self._done = len(text) if is_editable else 0
            self._line = 0
        self._text = text
        self._put_next()

    def _put_next(self) -> None:
        piece = self._text[self._done : self._done + _PIECE]
        if piece:
            self._done += len(piece)
            end = QTextCursor(self.document())
            end.movePosition(QTextCursor.MoveOperation.End)
            end.insertText(self._broken(piece))
            self.document().setModified(False)
        if not self.is_complete:
            self._timer.start()

    def _broken(self, piece: str) -> str:
        lines: list[str] = []
        for number, line in enumerate(piece.split("\n")):
            begun = self._line if number == 0 else 0
            cuts = [0, *range(_LONGEST_LINE - begun, len(line), _LONGEST_LINE)] if line else [0]
            parts = [line[first:last] for first, last in zip(cuts, [*cuts[1:], None], strict=True)]
            lines.append("\n".join(parts))
            self._line = len(parts[-1]) + (begun if len(parts) == 1 else 0)
        return "\n".join(lines)


_SHOWN_ROWS = 4
_TOOLTIP_CHARS = 2_000


class PinList(QWidget):
    op_requested = Signal(object)  # an `AddPin` or a `RemovePin`

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("pinList")
        listed = QWidget(self)
        self._rows = vbox(on=listed, spacing=Space.XS)
        self._area = QScrollArea(self)
        scroll_down(self._area, listed)
        self._field = make_line("pinEdit", self.tr("Text to pin"), self.tr("Pin text for the agent…"), parent=self)
        self._field.returnPressed.connect(self._add)
        self._field.textChanged.connect(self._on_text)
        times = [
            (self.tr("Until removed"), None),
            (self.tr("For an hour"), 3_600.0),
            (self.tr("For a day"), 86_400.0),
            (self.tr("For a week"), 7 * 86_400.0),
        ]
        self._time = Picker(self, object_name="pinTime", accessible_name=self.tr("How long"), choices=times)
        self._time.fit()
        self._button = make_button(self.tr("Pin"), object_name="pinButton", clicked=self._add)
        self._button.setEnabled(False)
        line = hbox((self._field, 1), self._time, self._button, spacing=Space.S)
        vbox(self._area, line, on=self, spacing=Space.S)

    def show_pins(self, pins: Sequence[Pin]) -> None:
        discard_all(self._rows)
        for pin in pins:
            self._rows.addWidget(self._row(pin))
        self._area.setFixedHeight(min(len(pins), _SHOWN_ROWS) * (Height.SMALL_BUTTON + Space.XS))
        self._area.setVisible(bool(pins))

    def _row(self, pin: Pin) -> QWidget:
        line = QWidget(self)
        text = ElidedLabel(text=" ".join(pin.text[:_TOOLTIP_CHARS].split()), takes_room=True)
        text.setToolTip(plain_tooltip(pin.text[:_TOOLTIP_CHARS]))
        until = make_label(role="secondary")
        if pin.expires_at is not None:
            moment = QDateTime.fromSecsSinceEpoch(round(pin.expires_at.timestamp()))
            until.setText(self.tr("until {0}").format(QLocale().toString(moment, QLocale.FormatType.ShortFormat)))
        name = self.tr("Unpin “{0}”").format(pin.text[:60])
        remove = partial(self.op_requested.emit, RemovePin(pin_id=pin.id))
        unpin = compact_button(self.tr("Unpin"), f"unpin-{pin.id}", accessible_name=name, clicked=remove)
        hbox((text, 1), until, unpin, on=line, spacing=Space.S)
        return line

    def _on_text(self, text: str) -> None:
        self._button.setEnabled(bool(text.strip()))

    def _add(self) -> None:
        text = self._field.text().strip()
        if text:
            self._field.clear()
            self.op_requested.emit(AddPin(text=text, ttl_s=self._time.currentData()))


_DOT = 8
_DATA = Qt.ItemDataRole.UserRole


class SectionList(QListWidget):
    section_chosen = Signal(object)  # a ContextSection

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        set_names(self, "contextSections", self.tr("What the model sees, part by part"))
        self.setItemDelegate(_Row(theme, set_up_list(self), self))
        self.setFixedWidth(240)
        self.currentItemChanged.connect(self._on_current)

    def show_sections(self, sections: tuple[ContextSection, ...]) -> None:
        chosen = self.chosen()
        self.clear()
        for section in sections:
            item = QListWidgetItem(section_name(section))
            item.setData(_DATA, section)
            words = self.tr("{0}, {1} tokens, not sent") if section.is_off else self.tr("{0}, {1} tokens")
            words = words.format(item.text(), counted(section.tokens))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, words)
            self.addItem(item)
            if chosen is not None and (section.kind, section.name) == (chosen.kind, chosen.name):
                self.setCurrentItem(item)
        if self.currentRow() < 0 and sections:
            self.setCurrentRow(max(range(len(sections)), key=lambda index: sections[index].tokens))

    def choose(self, kind: str) -> None:
        for row in range(self.count()):
            if self.item(row).data(_DATA).kind == kind:
                self.setCurrentRow(row)
                return

    def chosen(self) -> ContextSection | None:
        return self.item(self.currentRow()).data(_DATA) if self.currentRow() >= 0 else None

    def _on_current(self) -> None:
        if (section := self.chosen()) is not None:
            self.section_chosen.emit(section)


class _Row(RowDelegate):
    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        section: ContextSection = index.data(_DATA)
        colour = self.theme.colour
        area = QRectF(option.rect)
        ink = draw_ground(painter, self.theme, option, self.ring)
        dot = QRectF(area.left() + Space.S, area.center().y() - _DOT / 2, _DOT, _DOT)
        if section.is_off:
            ink = colour("muted")
            painter.setPen(QPen(ink, 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            dot.adjust(0.5, 0.5, -0.5, -0.5)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour(COLOURS[section.kind]))
        painter.drawEllipse(dot)
        painter.setFont(self.text_font)
        inner = area.adjusted(Space.S + _DOT + Space.S, 0, -Space.S, 0)
        tokens = counted(section.tokens)
        metrics = painter.fontMetrics()
        painter.setPen(colour("muted"))
        painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, tokens)
        painter.setPen(ink)
        room = int(inner.width()) - metrics.horizontalAdvance(tokens) - Space.S
        name = metrics.elidedText(section_name(section), Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter, name)


class ContextInspector(QDialog):
    op_requested = Signal(object)  # an Op

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_up_dialog(self, "contextInspector", self.tr("What the model sees"))
        self._report: ContextReport | None = None
        self._wanted = ""
        self._use = make_label(role="secondary", object_name="contextUse")
        self._missed = make_label(role="secondary", object_name="contextCacheMiss", wraps=True, is_plain=True)
        self._missed.hide()
        self._mended = make_label(role="secondary", object_name="contextMended", wraps=True, is_plain=True)
        self._mended.hide()
        self._bar = ContextBar(theme)
        self._list = SectionList(theme)
        self._list.section_chosen.connect(self._show_section)
        self._name = make_label(role="strong", is_plain=True)
        self._hint = make_label(role="secondary", wraps=True, is_plain=True)
        self._sent = make_label(role="secondary")
        self._switch = Switch(theme)
        self._switch.setObjectName("guidanceSwitch")
        self._switch.clicked.connect(self._switch_guidance)
        self._text = LongText()
        set_names(self._text, "contextText", self.tr("Text of this part"))
        self._text.setFont(theme.code_font())
        self._text.setMinimumHeight(40)
        self._text.textChanged.connect(self._on_text)
        self._save = make_button(self.tr("Save summary"), object_name="saveSummaryButton", clicked=self._save_summary)
        again = self.tr("The agent sees the older turns in full again")
        self._undo = make_button(
            self.tr("Undo summary"), "undoSummaryButton", clicked=self._undo_summary, tooltip=again
        )
        self._pins = PinList()
        self._pins.op_requested.connect(self.op_requested)
        self._focus = make_line(
            "compactFocus", self.tr("What the summary should keep above all"), self.tr("Keep above all… (optional)")
        )
        self._focus.returnPressed.connect(self._compact)
        self._compact_button = make_button(
            self.tr("Summarise older turns"), object_name="compactButton", clicked=self._compact
        )
        self._lay_out()
        resize_within_screen(self, QSize(860, 620))

    def show_report(self, report: ContextReport, pins: Sequence[Pin], *, is_working: bool) -> None:
        """While the agent works, the summary cannot be changed."""
        self._report = report
        use, percent = report.use, round(100 * report.use.tokens / max(report.use.window, 1))
        words = self.tr("{0} of {1} tokens, {2} %").format(counted(use.tokens), counted(use.window), percent)
        only_asked = self.tr("older turns are summarised only when you ask")
        above = self.tr("older turns are summarised above {0}").format(counted(report.target or 0))
        words += f" · {above if report.target else only_asked}"
        self._use.setText(words)
        self._bar.show_report(report)
        self._bar.setAccessibleName(words)
        is_editing = self._text.document().isModified() and not self._text.isReadOnly()
        self._list.blockSignals(is_editing)  # the user's edits stay
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
        show_text(self._missed, cache_miss_words(missed) if missed is not None else "")

    def show_mended(self, flaws: Sequence[Flaw]) -> None:
        listed = ", ".join(map(flaw_words, flaws))
        show_text(self._mended, self.tr("Repaired in the model's answers: {0}").format(listed) if flaws else "")

    def show_part(self, kind: str) -> None:
        """Show a part of the context. `pins` focuses the field that adds a pin."""
        self._wanted = kind
        if self._report is not None:
            self._list.choose(kind)

    # -- what is shown --

    def _show_section(self, section: ContextSection) -> None:
        is_summary = section.kind == "summary"
        summary = self._report.summary if self._report is not None else None
        text = section.text if not is_summary else summary_text(summary) if summary is not None else ""
        self._name.setText(section_name(section))
        self._hint.setText(section_hint(section) + self._left_out(section))
        self._text.show_text(text, is_editable=is_summary)
        self._text.setVisible(section.kind not in ("pins", "pictures"))
        self._save.setVisible(is_summary)
        self._undo.setVisible(is_summary)
        for widget in (self._sent, self._switch):
            widget.setVisible(section.kind == "guidance")
        self._sent.setText(self.tr("Not sent") if section.is_off else self.tr("Sent"))
        self._switch.setChecked(not section.is_off)
        self._switch.setAccessibleName(self.tr("Send {0} to the model").format(section.name))
        self._on_text()

    def _left_out(self, section: ContextSection) -> str:
        report = self._report
        if section.kind != "tools" or report is None or not report.deferred_tools:
            return ""
        words = self.tr(
            "{0} more tools of MCP servers (about {1} tokens) are not sent: the agent searches for those it needs."
        )
        return " " + words.format(counted(len(report.deferred_tools)), counted(report.deferred_tokens))

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

    def _switch_guidance(self) -> None:
        if (section := self._list.chosen()) is not None:
            self.op_requested.emit(SwitchGuidance(path=section.name, is_on=self._switch.isChecked()))
            self.op_requested.emit(InspectContext())

    def _compact(self) -> None:
        if self._compact_button.isEnabled():
            self.op_requested.emit(Compact(focus=self._focus.text().strip()))
            self._focus.clear()

    # -- building --

    def _lay_out(self) -> None:
        title = make_label(self.windowTitle(), role="title")
        margins = (Space.XL, Space.L, Space.XL, Space.M)
        head = vbox(title, self._use, self._bar, self._missed, self._mended, margins=margins, spacing=Space.S)
        buttons = hbox(self._save, self._undo, Stretch(1), spacing=Space.S)
        name = hbox((self._name, 1), self._sent, self._switch, spacing=Space.S)
        part = vbox(
            name,
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
