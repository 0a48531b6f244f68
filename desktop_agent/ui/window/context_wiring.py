"""Connects the inspector of what the model sees with the session that is shown."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.ops import Compact, InspectContext, UndoCompaction
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.shown_session import ShownSession

if TYPE_CHECKING:
    from desktop_agent.ui.context_inspector import ContextInspector


class ContextWiring(QObject):
    """Opens the inspector when it is asked for, and keeps what it shows fresh while it is open."""

    def __init__(self, shown: ShownSession, window: QWidget, theme: Theme) -> None:
        super().__init__(window)
        self._shown = shown
        self._window = window
        self._theme = theme
        self._inspector: ContextInspector | None = None

    def close(self) -> None:
        """Close the inspector, if it is open."""
        if self._inspector is not None:
            self._inspector.close()

    def inspect(self) -> None:
        """Show what the model sees."""
        self._open("")

    def edit_summary(self) -> None:
        """Show the summary, to rewrite it."""
        self._open("summary")

    def compact(self) -> None:
        """Summarise the older turns now."""
        self._shown.submit(Compact())

    def undo_compaction(self) -> None:
        """Let the agent see the older turns again."""
        self._shown.submit(UndoCompaction())

    def _open(self, kind: str) -> None:
        if self._shown.bridge is None:
            return
        if self._inspector is None:
            from desktop_agent.ui.context_inspector import ContextInspector  # not for the first sight

            self._inspector = ContextInspector(self._theme, self._window)
            self._inspector.op_requested.connect(self._shown.submit)
            self._inspector.finished.connect(self._forget)
            self._inspector.open()
        if kind:
            self._inspector.show_part(kind)
        self._ask()

    def _ask(self) -> None:
        self._shown.submit(InspectContext())

    def follow(self, event: ev.Event) -> None:
        """Take in what happened in the session."""
        if self._inspector is None:
            return
        match event:
            case ev.ContextInspected(report=report):
                transcript = self._shown.transcript
                is_working = transcript.turns.is_running or bool(transcript.turns.activity)
                self._inspector.show_report(report, tuple(transcript.context.pins.values()), is_working=is_working)
                self._inspector.show_cache_miss(transcript.turns.cache_miss)
            case (
                ev.ContextMeasured()
                | ev.Compacted()
                | ev.SummaryEdited()
                | ev.CompactionUndone()
                | ev.Pinned()
                | ev.Unpinned()
                | ev.GuidanceLoaded()
                | ev.TurnEnded()
                | ev.Rewound()
            ):
                self._ask()
            case ev.ToolProgress(name="compact"):
                self._ask()
            case _:
                pass

    def _forget(self) -> None:
        self._inspector = None
