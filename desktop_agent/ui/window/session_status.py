"""Shows how the session stands: its title, modes, jobs and queue, and which actions make sense."""

from collections.abc import Callable, Sequence

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol.model import Job, Rule
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.session_panels import SessionPanels
from desktop_agent.ui.window.shown_session import ShownSession


class SessionStatus:
    """Reads the transcript of the session that is shown; shows in the panels what it says."""

    def __init__(
        self,
        shown: ShownSession,
        panels: SessionPanels,
        actions: Actions,
        on_rules_changed: Callable[[tuple[Rule, ...]], None],
    ) -> None:
        self._shown = shown
        self._panels = panels
        self._actions = actions
        self._on_rules_changed = on_rules_changed
        self._rules: tuple[Rule, ...] | None = None
        self._last: dict[str, object] = {}
        """What was shown last, by part."""

    def refresh(self) -> None:
        """Show title, modes, jobs and queue, and enable the actions that fit."""
        transcript = self._shown.transcript
        is_demo = transcript.session.model is not None and transcript.session.model.provider == "demo"
        if self._is_news("title", title := transcript.session.title, is_demo):
            self._panels.top_bar.set_title(title, is_demo=is_demo)
        session = transcript.session
        self._panels.pickers.show_mode(session.model, session.approval, session.sandbox)
        self._show_jobs(transcript.session.jobs)
        if transcript.session.rules is not self._rules:
            self._rules = transcript.session.rules
            self._on_rules_changed(transcript.session.rules)
        self._show_in_composer(transcript)
        is_busy = _is_busy(transcript)
        is_read_only = bool(self._shown.read_only)
        is_resting = not transcript.turns.is_running and not is_read_only
        self._actions.stop.setEnabled(is_busy and not is_read_only)
        self._actions.compact.setEnabled(not is_busy and not is_read_only and transcript.turn > 1)
        self._actions.inspect_context.setEnabled(not is_read_only)
        # Always, so that the keys are never dead: the session says why it does not undo or redo.
        self._actions.undo_turn.setEnabled(not is_read_only)
        self._actions.redo_turn.setEnabled(not is_read_only)
        self._actions.rewind.setEnabled(is_resting and transcript.turn > 0)
        self._actions.undo_file.setEnabled(is_resting)

    def _is_news(self, part: str, *values: object) -> bool:
        """Whether a part shows something else by now. Most of what happens in a turn changes one of them, or none."""
        is_news = self._last.get(part) != values
        self._last[part] = values
        return is_news

    def _show_jobs(self, jobs: Sequence[Job]) -> None:
        if not self._is_news("jobs", *jobs):
            return
        self._panels.jobs.show_jobs(jobs)
        self._panels.top_bar.set_jobs(running=sum(job.state == "running" for job in jobs), total=len(jobs))

    def _show_in_composer(self, transcript: Transcript) -> None:
        composer = self._panels.composer
        if self._is_news("working", is_busy := _is_busy(transcript)):
            composer.set_working(is_working=is_busy)
        composer.set_asked("" if self._shown.read_only else _asked_about(transcript))
        composer.waiting.set_steerable(is_steerable=transcript.turns.is_running)
        queued = transcript.turns.queued
        composer.waiting.show(
            [(prompt.prompt_id, prompt.text) for prompt in queued],
            steering={prompt.prompt_id for prompt in queued if prompt.is_steering},
        )
        if self._is_news("context", use := transcript.context.use):
            composer.controls.show_context(use)
        turns = transcript.turns
        if self._is_news("cost", *(costs := (turns.usage, turns.turn_usage, turns.cache_miss))):
            composer.controls.show_cost(*costs)

    def refresh_changes(self) -> None:
        """Show what changed, in the review and in the file tree."""
        self._panels.review.refresh()
        touched = {record.change.path for record in self._shown.transcript.changed.active()}
        self._panels.files.set_touched(touched)
        self._panels.transcript.row_layout.files.set_changed(touched)


def _asked_about(transcript: Transcript) -> CallId:
    """Return the call that has waited longest for a yes or no; empty where none does.

    What a server asks, or a limit of spending, has answers of its own.
    """
    asked = (one for one in transcript.pending_approvals if one.question is None and one.spending is None)
    return next((one.call_id for one in asked), "")


def _is_busy(transcript: Transcript) -> bool:
    """Whether there is something to stop: a turn, or a summary that the user asked for."""
    return transcript.turns.is_running or bool(transcript.turns.activity)
