"""Entries, a conversation that grows by real events, and a window with a transcript."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, SignalInstance
from PySide6.QtGui import QKeySequence, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    ApprovalRequest,
    Decision,
    FileChange,
    ModelRef,
    ScopeOffer,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResult,
    Uncaptured,
)
from desktop_agent.core.transcript import Entry, TextEntry, ToolEntry, Transcript, TurnState
from desktop_agent.ui.chat.cards.tool_body import CardLoader
from desktop_agent.ui.chat.entries.entry import EntryRow, EntryWidget
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.theme import Theme

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MODEL = ModelRef(provider="demo", model="demo")


def prompt(text: str) -> ev.PromptSubmitted:
    return ev.PromptSubmitted(prompt_id="p", text=text, turn=1, at=NOW)


def answer(text: str, *, is_open: bool = False) -> TextEntry:
    return TextEntry(turn=1, chunks=[text], is_open=is_open, kind="text")


def thought(text: str, *, is_open: bool = False) -> TextEntry:
    return TextEntry(turn=1, chunks=[text], is_open=is_open, kind="thinking")


def call(
    name: str = "read_file",
    title: str = "src/app.py",
    *,
    call_id: str = "c1",
    output: str = "",
    result: ToolResult | None = None,
    changes: tuple[FileChange, ...] = (),
    uncaptured: tuple[Uncaptured, ...] = (),
    decision: Decision | None = None,
    approval: ApprovalRequest | None = None,
) -> ToolEntry:
    return ToolEntry(
        turn=1,
        call=ToolCall(id=call_id, name=name, arguments={}),
        title=title,
        is_read_only=False,
        started_at=NOW - timedelta(seconds=3.2),
        state="started" if result is None else "failed" if result.is_error else "completed",
        output_tail=output,
        output_chars=len(output),
        result=result,
        duration_s=None if result is None else 0.006,
        approval=approval,
        decision=decision,
        changes=changes,
        uncaptured=uncaptured,
    )


def change(path: str = "src/app.py", added: int = 3, removed: int = 2) -> FileChange:
    return FileChange(
        id="1.1", path=path, kind="modified", author="agent", before=None, after=None, added=added, removed=removed
    )


def question(command: str | None = "git push", *, call_id: str = "c1", offers: Sequence[str] = ()) -> ApprovalRequest:
    return ApprovalRequest(
        call_id=call_id,
        tool="run_terminal_cmd",
        title="git push" if command else "Change src/app.py?",
        reason="Asks because `git push` uses the network.",
        arguments_digest="0" * 64,
        command=command,
        cwd="/srv/project",
        changes=() if command else (change(), change("b.py")),
        risks=("Changes another machine",),
        scopes=tuple(ScopeOffer(scope="session", label=label, is_quick=True) for label in offers),
    )


class Conversation:
    def __init__(self, view: TranscriptView) -> None:
        self.transcript = Transcript()
        self._view = view
        self._calls = 0
        view.show_transcript(self.transcript)

    def happen(self, *events: ev.Event) -> None:
        for event in events:
            self._view.row_layout.apply(self.transcript.apply(event))

    def show(self, *events: ev.Event) -> None:
        self.happen(*events)
        self._view.row_layout.flush()

    def ask(self, text: str) -> None:
        turn = self.transcript.turn + 1
        self.happen(
            ev.PromptSubmitted(turn=turn, prompt_id=f"p{turn}", text=text, at=NOW),
            ev.TurnStarted(turn=turn, model=MODEL),
        )

    def stream(self, text: str, size: int = 7) -> None:
        for at in range(0, len(text), size):
            self.happen(ev.TextDelta(turn=self.transcript.turn, text=text[at : at + size]))

    def finish(self, text: str, thinking: str = "") -> None:
        blocks = ((ThinkingBlock(thinking=thinking, signature=""),) if thinking else ()) + (TextBlock(text=text),)
        self.happen(
            ev.MessageDone(
                turn=self.transcript.turn, message_id="m", model=MODEL, content=blocks, stop_reason="end_turn"
            )
        )

    def start_call(self, name: str, title: str) -> str:
        self._calls += 1
        call_id = f"c{self._calls}"
        self.happen(
            ev.ToolCallStarted(
                turn=self.transcript.turn,
                call=ToolCall(id=call_id, name=name, arguments={}),
                title=title,
                source="workspace",
                capabilities=("exec_shell",),
                is_read_only=False,
                at=NOW,
            )
        )
        return call_id

    def end_call(self, call_id: str, content: str = "", *, is_error: bool = False) -> None:
        self.happen(
            ev.ToolCallFinished(
                turn=self.transcript.turn,
                call_id=call_id,
                state="failed" if is_error else "completed",
                result=ToolResult(content=content, is_error=is_error),
                duration_s=0.2,
            )
        )

    def end_turn(self, reason: ev.TurnEndReason = "completed") -> None:
        self.happen(ev.TurnEnded(turn=self.transcript.turn, reason=reason, requests=1, duration_s=1.0))


class Stage:
    def __init__(
        self, theme: Theme, qtbot: QtBot, width: int = 640, height: int = 600, loader: CardLoader | None = None
    ) -> None:
        self.qtbot = qtbot
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.view = TranscriptView(theme, now=lambda: NOW, loader=loader)
        self.field = QLineEdit()
        layout = QVBoxLayout(self.window)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view, 1)
        layout.addWidget(self.field)
        self.window.resize(width, height)
        with qtbot.waitExposed(self.window):
            self.window.show()
        self.field.setFocus()

    def show(self, *entries: Entry, is_running: bool = False) -> Transcript:
        transcript = Transcript(turns=TurnState(is_running=is_running))
        for entry in entries:
            transcript.paged.append(entry)
        self.view.show_transcript(transcript)
        return transcript

    def talk(self, prompt: str = "go") -> Conversation:
        conversation = Conversation(self.view)
        conversation.ask(prompt)
        return conversation

    def row(self, index: int) -> EntryRow:
        return self.view.rows[index if index >= 0 else len(self.view.rows) + index]

    def widget(self, index: int) -> EntryWidget:
        widget = self.row(index).widget
        assert widget is not None
        return widget

    def shown_text(self, index: int) -> str:
        column = self.widget(index).column
        return "\n".join(column.text.shown(block) for block in range(len(column.text.blocks)))

    def button(self, text: str, inside: QWidget | None = None) -> QPushButton:
        buttons = (inside or self.window).findChildren(QPushButton)
        return next(button for button in buttons if button.text().startswith(text) and button.isVisible())

    def buttons(self, inside: QWidget | None = None) -> list[str]:
        found = (inside or self.window).findChildren(QPushButton)
        return [button.text() for button in found if button.isVisible()]

    # -- the mouse --

    def point_of(self, index: int, word: str, *, at_end: bool = False) -> QPoint:
        widget = self.widget(index)
        for block in range(len(widget.column.text.blocks)):
            start = widget.column.text.shown(block).find(word)
            if start >= 0:
                rect = widget.column.rects(block, start, start + len(word))[0]
                inside = QPointF(rect.right() - 0.5 if at_end else rect.left() + 0.5, rect.center().y())
                return (inside + QPointF(widget.column_origin)).toPoint() + widget.pos()
        raise AssertionError(f"{word!r} is not shown")

    def drag(self, start: QPoint, end: QPoint) -> None:
        self.press(start)
        self.move(QPoint((start.x() + end.x()) // 2, (start.y() + end.y()) // 2), is_pressed=True)
        self.move(end, is_pressed=True)
        self.release(end)

    def press(self, at: QPoint, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.mousePress(self.view.viewport(), Qt.MouseButton.LeftButton, modifiers, at)

    def release(self, at: QPoint) -> None:
        QTest.mouseRelease(self.view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)

    def click_on(self, index: int, word: str) -> None:
        at = self.point_of(index, word)
        self.press(at)
        self.release(at)

    def double_click(self, at: QPoint) -> None:
        QTest.mouseDClick(self.view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)

    def move(self, at: QPoint, *, is_pressed: bool = False) -> None:
        viewport = self.view.viewport()
        event = QMouseEvent(
            QEvent.Type.MouseMove,
            QPointF(at),
            viewport.mapToGlobal(QPointF(at)),
            Qt.MouseButton.NoButton,
            Qt.MouseButton.LeftButton if is_pressed else Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(viewport, event)

    def key(self, key: Qt.Key | QKeySequence.StandardKey, target: QWidget | None = None) -> None:
        if isinstance(key, QKeySequence.StandardKey):
            QTest.keySequence(target or self.view, QKeySequence(key))
        else:
            QTest.keyClick(target or self.view, key)

    def wheel(self, steps: int) -> None:
        bar = self.view.verticalScrollBar()
        bar.setValue(bar.value() - steps * 3 * bar.singleStep())

    def top_text(self) -> tuple[int, int, int]:
        """The row and the block at the top edge, and the edge's distance from the block's top."""
        view = self.view
        row = view.row_layout.reading.row_at(view.row_layout.top_edge)
        assert row is not None
        assert row.widget is not None
        inside = view.row_layout.top_edge - view.row_layout.reading.row_top(row) - row.widget.column_origin.y()
        block, distance = row.widget.column.anchor(inside)
        return row.index, block, distance


def record(signal: SignalInstance) -> list[tuple[object, ...]]:
    received: list[tuple[object, ...]] = []

    def note(*arguments: object) -> None:
        received.append(arguments)

    signal.connect(note)
    return received


def click(widget: QWidget) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def type_text(widget: QWidget, text: str) -> None:
    QTest.keyClicks(widget, text)


def long_text(paragraphs: int, name: str = "text") -> str:
    return "\n\n".join(
        f"{name} {number}: " + "some words to fill a few lines with " * 6 for number in range(paragraphs)
    )
