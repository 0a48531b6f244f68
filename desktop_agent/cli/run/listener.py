"""What `desktop-agent run` shows while it runs."""

import argparse
import time

from desktop_agent.cli.console import Console, OutputError
from desktop_agent.cli.run.progress import ProgressLine
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event


class RunListener:
    """Shows what happens while it happens: as JSON lines with --stream, in words with --verbose.

    Raises `OutputError` when its reader has gone.
    """

    def __init__(self, args: argparse.Namespace, console: Console) -> None:
        self._is_stream: bool = args.stream
        self._is_verbose: bool = args.verbose or args.debug_tool_use
        self._console = console
        is_wanted = not (self._is_stream or self._is_verbose)
        self.progress = ProgressLine(console.err, args.environ.get("TERM", "") if is_wanted else "", time.monotonic)
        self.has_lost_reader = False
        """Whether the program that read along has ended; the run was stopped for it."""

    def __call__(self, event: ev.Event) -> None:
        try:
            self._show(event)
        except OutputError as error:
            self.has_lost_reader = error.is_closed
            raise

    def on_rejected(self, line: int, reason: str) -> None:
        """Tell the program that writes ops of a line that is none; what it asked for before goes on."""
        if self._is_stream:
            self._console.line({"type": "op_rejected", "line": line, "reason": reason})
        else:
            self._console.say(f"error: line {line} of the input: {reason}")

    def say(self, text: str) -> None:
        """Tell the user something that is no event."""
        self.progress.clear()
        self._console.say(text)

    def _show(self, event: ev.Event) -> None:
        if self._is_stream:
            self._console.line(encode_event(event))
        if not self._is_verbose:
            self.progress.note(event)
            if isinstance(event, ev.Notice) and event.level == "warning":  # a run that waits says what for
                self.say(f"! {event.title} {event.hint}".rstrip())
            return
        match event:
            case ev.ToolCallStarted(call=call, title=title):
                self._console.report(f"▸ {call.name} {title}" if title != call.name else f"▸ {call.name}")
            case ev.ToolCallFinished(state=state, duration_s=duration_s):
                self._console.report(f"  {state} after {duration_s:.1f} s")
            case ev.Notice(title=title, hint=hint):
                self._console.report(f"! {title} {hint}".rstrip())
            case ev.CommandRun(output=output):
                self._console.report(f"COMMAND: {output}")
            case ev.TurnEnded(reason=reason):
                self._console.report(f"■ {reason}")
            case _:
                pass
