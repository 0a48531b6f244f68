"""The head of the question: what would run or change, where, the reason for asking, and the risks."""

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

from PySide6.QtCore import QCoreApplication, QPointF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QSizePolicy, QVBoxLayout, QWidget

from desktop_agent.core.changes.net import net_of_call
from desktop_agent.core.protocol.model import ApprovalRequest
from desktop_agent.ui.approvals.rule_judging import RuleMaths
from desktop_agent.ui.open_question import OpenQuestion, confinement_words, risk_words
from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.translation import core_words, plural
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.exact_field import ExactField, FoldBar
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, discard, hbox, set_names, vbox
from desktop_agent.ui.widgets.text_colours import count_lines
from desktop_agent.ui.wording import explained, in_quotes, short_path, visible

_FRAME = 14
"""The height of border and padding together, including the free space needed below the last line."""
_SIDES = 18


class CommandEdit(QWidget):
    def __init__(self, theme: Theme, question: OpenQuestion) -> None:
        super().__init__()
        self.field = _Field(
            theme, question.request.command or "", "approvalCommandEdit", self.tr("Command"), most_lines=10
        )
        self.fold = FoldBar(self.field)
        self._question = question
        self.field.setReadOnly(question.request.is_fixed)
        question.take_command(self.field)
        question.folds.append(self.fold)
        self.mark(question.request.cause)
        words = self.tr("Modified by you. The agent sees your change.")
        self._mark = make_label(words, role="warning", object_name="commandModifiedMark")
        back = self.tr("Go back to the agent's command")
        self._restore = make_button(self.tr("Restore"), "restoreCommandButton", clicked=self._on_restore, tooltip=back)
        self._restore.setProperty("size", "small")
        marks = hbox(self._mark, STRETCH, self._restore, spacing=Space.XS)
        vbox(self.field, self.fold, marks, on=self, spacing=Space.XS)
        self.field.textChanged.connect(self._show_mark)
        self.fold.resize_wanted.connect(self.field.updateGeometry)
        self._show_mark()

    def mark(self, cause: str) -> None:
        self.field.mark((cause,) if cause else ())
        said = self.tr("Reason for the question: {0}").format(visible(cause)) if cause else ""
        self.field.setAccessibleDescription(said)

    def _on_restore(self) -> None:
        self.field.set_text(self._question.request.command or "")  # an edit that the user can undo

    def _show_mark(self) -> None:
        is_edited = self._question.edited is not None
        self._mark.setVisible(is_edited)
        self._restore.setVisible(is_edited)


class _Field(ExactField):
    """A field as high as its text, up to a limit."""

    def __init__(self, theme: Theme, text: str, name: str, accessible_name: str, *, most_lines: int) -> None:
        super().__init__(theme, text)
        self.most_lines = most_lines
        set_names(self, name, accessible_name)
        self.setFont(theme.code_font(theme.sizes.code, grows=False))
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        option = self.document().defaultTextOption()
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        self.document().setDefaultTextOption(option)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self.updateGeometry)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        lines = count_lines(self.toPlainText(), self.font(), width - _SIDES, self.most_lines)
        return lines * QFontMetrics(self.font()).lineSpacing() + _FRAME

    def sizeHint(self) -> QSize:
        return QSize(400, self.heightForWidth(max(self.width(), 400)))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, QFontMetrics(self.font()).lineSpacing() + _FRAME)


_tr = partial(QCoreApplication.translate, "ApprovalRequest")

SignKind = Literal["warning", "confined", "unconfined", "escaping"]

_SIZE = 16
_COLOURS = {"warning": "warning_text", "confined": "muted", "unconfined": "warning_text", "escaping": "danger_text"}


class Sign(QWidget):
    """Draws a triangle for a warning, a shield for sandboxed calls, a broken shield for calls without a sandbox."""

    def __init__(self, theme: Theme, kind: SignKind) -> None:
        super().__init__()
        self._theme = theme
        self._kind: SignKind = kind
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(_SIZE, _SIZE)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            pen = QPen(self._theme.colour(_COLOURS[self._kind]), 1.4)
            pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            painter.setPen(pen)
            if self._kind == "warning":
                painter.drawPath(_triangle())
                painter.drawLine(QPointF(8, 6.2), QPointF(8, 9.2))
                painter.drawPoint(QPointF(8, 11.6))
            else:
                painter.drawPath(_shield())
                if self._kind == "confined":
                    painter.drawPolyline([QPointF(5.6, 8), QPointF(7.4, 9.8), QPointF(10.6, 6.2)])
                else:
                    painter.drawLine(QPointF(2.6, 2.4), QPointF(13.4, 13.6))


def _triangle() -> QPainterPath:
    path = QPainterPath(QPointF(8, 2))
    path.lineTo(14.6, 13.8)
    path.lineTo(1.4, 13.8)
    path.closeSubpath()
    return path


def _shield() -> QPainterPath:
    path = QPainterPath(QPointF(8, 1.6))
    path.lineTo(13.4, 3.6)
    path.lineTo(13.4, 7.6)
    path.cubicTo(13.4, 11, 11, 13.4, 8, 14.4)
    path.cubicTo(5, 13.4, 2.6, 11, 2.6, 7.6)
    path.lineTo(2.6, 3.6)
    path.closeSubpath()
    return path


Ground = Literal["none", "warning", "danger"]


class IconLine(NamedTuple):
    """A sign with untrusted text beside it, shown as plain text."""

    sign: SignKind
    text: str
    role: str


class IconNote(QFrame):
    def __init__(self, theme: Theme, object_name: str, accessible_name: str) -> None:
        super().__init__()
        set_names(self, object_name, accessible_name)
        self._theme = theme
        self._lines: tuple[IconLine, ...] = ()
        self._ground: Ground = "none"
        self._rows: list[QWidget] = []
        self._column = QVBoxLayout(self)
        self._column.setSpacing(Space.XS)
        theme.changed.connect(self._draw_ground)
        self.hide()

    def show_lines(self, lines: Sequence[IconLine], ground: Ground = "none") -> None:
        if (tuple(lines), ground) == (self._lines, self._ground):
            return
        self._lines, self._ground = tuple(lines), ground
        for drawn in self._rows:
            discard(drawn)
        self._rows = [self._draw(line) for line in lines]
        for drawn in self._rows:
            self._column.addWidget(drawn)
        margins = (0, 0, 0, 0) if ground == "none" else (Space.M, Space.S, Space.M, Space.S)
        self._column.setContentsMargins(*margins)
        self._draw_ground()
        self.setAccessibleDescription(self.text())
        self.setVisible(bool(lines))

    def text(self) -> str:
        return "\n".join(line.text for line in self._lines)

    def _draw(self, line: IconLine) -> QWidget:
        words = make_label(line.text, role=line.role, wraps=True, is_plain=True)
        drawn = QWidget()
        sign = Sign(self._theme, line.sign)
        hbox((sign, Qt.AlignmentFlag.AlignTop), (words, 1), on=drawn, spacing=Space.S)
        return drawn

    def _draw_ground(self) -> None:
        colours, name, words = self._theme.colours, self.objectName(), ""
        match self._ground:
            case "none":
                if self.styleSheet():  # replacing an empty style sheet by an empty one still creates a style
                    self.setStyleSheet("")
                return
            case "warning":
                fill, line = colours.warning_bg, colours.warning_border
            case "danger":
                fill, line = colours.danger_bg, colours.danger_text
                words = f"#{name} QLabel {{ color: {line}; font-weight: 600; }}"
        box = f"#{name} {{ background: {fill}; border: 1px solid {line}; border-radius: {Radius.CONTROL}px; }}"
        self.setStyleSheet(box + words)


def request_summary(request: ApprovalRequest) -> str:
    parts = [request.tool]
    if request.changes:
        changes = net_of_call(request.changes)
        is_outside = any(change.path.startswith(("/", "../")) or ":" in change.path[:3] for change in request.changes)
        parts.append(_tr("outside the workspace") if is_outside else _tr("inside the workspace"))
        added, removed = sum(change.added for change in changes), sum(change.removed for change in changes)
        parts += [plural("ApprovalRequest", len(changes), "%n file", "%n files"), f"+{added} −{removed}"]
    if request.command is not None or not request.changes:
        parts.append(_tr("in {0}").format(short_path(request.cwd)) if request.cwd else _tr("in the workspace"))
    return " · ".join(parts)


def quoted(text: str) -> str:
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return text  # one of the backticks is not part of a pair
    return "".join(in_quotes(part) if index % 2 else part for index, part in enumerate(parts))


class QuestionHead(QWidget):
    def __init__(self, theme: Theme, question: OpenQuestion, maths: RuleMaths, parent: QWidget) -> None:
        super().__init__(parent)
        request = question.request
        self._theme = theme
        self._question = question
        self._maths = maths
        self._risks = IconNote(theme, "approvalRiskNote", self.tr("Risks"))
        self._confinement = IconNote(theme, "approvalConfinement", self.tr("How it would run"))
        self._safety = IconNote(theme, "approvalSafetyNote", self.tr("Safety copy"))
        self._reason = make_label(object_name="approvalReason", wraps=True, is_plain=True)
        # The model wrote a part of this text.
        self.heading = make_label(visible(core_words(request.title)), role="title", wraps=True, is_plain=True)
        self.command = CommandEdit(theme, question) if request.command is not None else None
        shown = (
            (question.called, "approvalCall", self.tr("Proposed call")),
            (question.details, "approvalDetails", self.tr("Details")),
        )
        self._fields = [self._make_field(text, name, title) for text, name, title in shown if text]
        self._lay_out()
        self.show_request(request)

    def show_request(self, request: ApprovalRequest) -> None:
        words = risk_words(request, self._question.text)
        risks = [IconLine("warning", visible(risk), "warning") for risk in words]
        self._risks.show_lines(risks, "warning")
        why = visible(core_words(request.reason))
        self._reason.setText(quoted(why))
        self._reason.setAccessibleName(self.tr("Why you are asked: {0}").format(why))
        confinement = IconLine("confined", confinement_words(request), "secondary")
        if request.is_escalation:
            confinement = confinement._replace(sign="escaping", role="error")
        elif self._maths.runs_unconfined(request):
            confinement = confinement._replace(sign="unconfined", role="warning")
        ground = "danger" if request.is_escalation else "none"
        self._confinement.show_lines([confinement] if confinement.text else [], ground)
        copied, gaps = IconLine("confined", "", "secondary"), IconLine("warning", "", "warning")
        safety = [
            (gaps if at else copied)._replace(text=visible(core_words(text))) for at, text in enumerate(request.safety)
        ]
        self._safety.show_lines(safety)
        if self.command:
            self.command.mark(request.cause)

    def _lay_out(self) -> None:
        request = self._question.request
        self.heading.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.heading.setAccessibleName(self.heading.text())
        words = request_summary(request)
        summary = make_label(words, role="secondary", object_name="approvalSummary", wraps=True, is_plain=True)
        margins = (Space.XL, Space.XL, Space.XL, Space.M)
        box = vbox(self.heading, summary, on=self, margins=margins, spacing=Space.XS)
        if purpose := explained(request.explanation, request.subagent):
            box.addWidget(make_label(purpose, object_name="approvalExplanation", wraps=True, is_plain=True))
        if self.command:
            add_parts(box, Space.S, self.command)
        for field in self._fields:
            fold = FoldBar(field)
            fold.resize_wanted.connect(field.updateGeometry)
            add_parts(box, Space.XS, field, fold)
            self._question.folds.append(fold)
        if request.tool_definition:
            said = self.tr("The server's description of the tool")
            definition = self._make_field(request.tool_definition, "approvalToolDefinition", said)
            add_parts(box, Space.XS, make_label(said, role="secondary"), definition)
        if request.reason:
            question = make_label(self.tr("Why am I asked?"), role="secondary")
            reason = hbox((question, Qt.AlignmentFlag.AlignTop), (self._reason, 1), spacing=Space.S)
            add_parts(box, Space.XS, reason)
        add_parts(box, Space.XS, self._confinement, self._safety, Space.XS, self._risks)

    def _make_field(self, text: str, name: str, accessible_name: str) -> ExactField:
        field = _Field(self._theme, text, name, accessible_name, most_lines=12)
        field.setReadOnly(True)
        field.setProperty("role", "secondary")
        return field
