"""Connects the inspector of what the model sees with the session that is shown."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.events import Event
from desktop_agent.core.protocol.ops import Op
from desktop_agent.ui.context.inspector import ContextInspector
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.bridge import SessionBridge


class ContextWiring(QObject):
    """Opens the inspector when it is asked for, and keeps what it shows fresh while it is open."""

    def __init__(self, window: QWidget, theme: Theme) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._bridge: SessionBridge | None = None
        self._inspector: ContextInspector | None = None

    def show(self, bridge: SessionBridge) -> None:
        """Be about this session from now on."""
        if self._bridge is not None:
            self._bridge.happened.disconnect(self._on_happened)
        self._bridge = bridge
        bridge.happened.connect(self._on_happened)
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
        from desktop_agent.core.protocol.ops import Compact

        self._submit(Compact())

    def undo_compaction(self) -> None:
        """Let the agent see the older turns again."""
        from desktop_agent.core.protocol.ops import UndoCompaction

        self._submit(UndoCompaction())

    def _open(self, kind: str) -> None:
        if self._bridge is None:
            return
        if self._inspector is None:
            self._inspector = ContextInspector(self._theme, self._window)
            self._inspector.op_requested.connect(self._submit)
            self._inspector.finished.connect(self._forget)
            self._inspector.open()
        if kind:
            self._inspector.show_part(kind)
        self._ask()

    def _ask(self) -> None:
        from desktop_agent.core.protocol.ops import InspectContext

        self._submit(InspectContext())

    def _submit(self, op: Op) -> None:
        if self._bridge is not None:
            self._bridge.submit(op)

    def _on_happened(self, event: Event) -> None:
        if self._inspector is None or self._bridge is None:
            return
        from desktop_agent.core.protocol import events as ev

        match event:
            case ev.ContextInspected(report=report):
                transcript = self._bridge.transcript
                is_working = transcript.turns.is_running or bool(transcript.turns.activity)
                self._inspector.show_report(report, tuple(transcript.context.pins.values()), is_working=is_working)
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
