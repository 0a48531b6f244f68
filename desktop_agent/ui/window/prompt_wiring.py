"""Connects the composer, and what sends prompts in the conversation, with the session that is shown."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.core.protocol.ops import (
    Interrupt,
    MoveQueued,
    RunCommand,
    SendQueued,
    Steer,
    SteerQueued,
    SubmitPrompt,
    TryNow,
    Unqueue,
)
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.session_panels import SessionPanels
from desktop_agent.ui.window.shown_session import ShownSession


class PromptWiring(QObject):
    """Prompts and commands go to the session, and come back to the composer if they were not taken."""

    def __init__(
        self,
        shown: ShownSession,
        panels: SessionPanels,
        actions: Actions,
        parent: QObject,
        *,
        give_back: Callable[[Sequence[str]], None],
        on_retry: Callable[[], None],
    ) -> None:
        """`give_back` puts texts into the composer; `on_retry` is called before the last prompt is sent again."""
        super().__init__(parent)
        self._shown = shown
        self._panels = panels
        self._give_back = give_back
        self._on_retry = on_retry
        entries = panels.transcript.entry_actions
        entries.retry_requested.connect(self._retry)
        entries.try_now_requested.connect(self._try_now)
        entries.quote_requested.connect(self._quote)
        entries.stop_requested.connect(self._interrupt)
        panels.composer.controls.stop.clicked.connect(self._interrupt)
        panels.composer.waiting.unqueue_requested.connect(self._unqueue)
        panels.composer.waiting.send_requested.connect(self._send_queued)
        panels.composer.waiting.steer_requested.connect(self._steer_queued)
        panels.composer.waiting.edit_requested.connect(self._edit_queued)
        panels.composer.waiting.move_requested.connect(self._move_queued)
        actions.connect(actions.stop, self._interrupt)
        actions.connect(actions.quote, self._quote_chosen)

    def submit(self, text: str) -> None:
        """Send a prompt; the session queues it while the agent works."""
        self._shown.submit(SubmitPrompt(text=text))
        if not self._shown.transcript.turns.is_running:  # else it waits, and what is being read stays in sight
            self._panels.transcript.row_layout.scroll_to_bottom()

    def steer(self, text: str) -> None:
        """Send a message into the running turn, which has it with its next request."""
        self._shown.submit(Steer(text=text))

    def run_command(self, text: str) -> None:
        """Run a slash command."""
        self._shown.submit(RunCommand(text=text))
        self._panels.transcript.row_layout.scroll_to_bottom()

    def _quote_chosen(self) -> None:
        self._panels.transcript.messages.quote()

    def _quote(self, text: str) -> None:
        """Put a quotation behind what is written, and the cursor behind it."""
        composer = self._panels.composer
        draft = composer.text().rstrip()
        quoted = "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
        composer.set_text(f"{draft}\n\n{quoted}\n\n" if draft else f"{quoted}\n\n")
        composer.setFocus()

    def _unqueue(self, prompt_id: str) -> None:
        self._shown.submit(Unqueue(prompt_id=prompt_id))

    def _send_queued(self, prompt_id: str) -> None:
        self._shown.submit(SendQueued(prompt_id=prompt_id))
        self._panels.transcript.row_layout.scroll_to_bottom()

    def _steer_queued(self, prompt_id: str) -> None:
        self._shown.submit(SteerQueued(prompt_id=prompt_id))

    def _edit_queued(self, prompt_id: str) -> None:
        """Take a prompt back into the message field, where it is sent again from."""
        for prompt in self._shown.transcript.turns.queued:
            if prompt.prompt_id == prompt_id:
                self._unqueue(prompt_id)
                self._give_back([prompt.text])
                self._panels.composer.setFocus()

    def _move_queued(self, prompt_id: str, before: str) -> None:
        self._shown.submit(MoveQueued(prompt_id=prompt_id, before=before))

    def _interrupt(self) -> None:
        self._shown.submit(Interrupt())

    def _try_now(self) -> None:
        self._shown.submit(TryNow())

    def _retry(self) -> None:
        """Ask again with the last prompt of the user."""
        for entry in reversed(self._shown.transcript.entries):
            if isinstance(entry, PromptSubmitted):
                self._on_retry()
                self.submit(entry.text)
                return

    def give_back_queued(self) -> None:
        """Put prompts that will not start by themselves back into the composer.

        Those that an earlier process left stay where they are: the user has not just written them.
        """
        bridge = self._shown.bridge
        if bridge is None:
            return
        queued = bridge.transcript.turns.queued
        waiting = [prompt for prompt in queued if prompt.prompt_id not in bridge.left_waiting]
        if not waiting:
            return
        for prompt in waiting:
            self._unqueue(prompt.prompt_id)
        self._give_back([prompt.text for prompt in waiting])
