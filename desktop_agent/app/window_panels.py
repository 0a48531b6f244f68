"""Every widget of the window, built and arranged. Nothing in here starts a session or reads a file."""

from datetime import UTC, datetime

from msgspec import Struct

from desktop_agent.app.review.diffs import BlobDiffs
from desktop_agent.app.review.rule_judges import RuleJudges
from desktop_agent.ui.chat.cards.tool_body import CardLoader
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.files.file_panel import FileTree
from desktop_agent.ui.jobs_panel import JobsPanel
from desktop_agent.ui.models.model_picker import ModelPicker
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.sessions.session_panel import SessionPanel
from desktop_agent.ui.sessions.session_search import SearchPanel
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.account_fields import PastedKeys
from desktop_agent.ui.widgets.focus import FocusKeeper
from desktop_agent.ui.widgets.icons import Icons
from desktop_agent.ui.window.conversation_pane import ConversationPane
from desktop_agent.ui.window.main_window import MainWindow, Panels
from desktop_agent.ui.window.mode_pickers import ModePickers
from desktop_agent.ui.window.session_controller import SessionController, SessionPanels


class WindowPanels(Struct, frozen=True):
    """The window and what its controller needs to reach in it."""

    window: MainWindow
    sessions: SessionPanel
    search: SearchPanel
    files: FileTree
    conversation: ConversationPane
    transcript: TranscriptView
    composer: Composer
    pickers: ModePickers
    models: ModelPicker
    review: ReviewPanel
    jobs: JobsPanel
    session: SessionController
    judges: RuleJudges
    pasted_keys: PastedKeys
    diffs: BlobDiffs


def build_panels(
    window: MainWindow, theme: Theme, diffs: BlobDiffs, judges: RuleJudges, spawner: TaskSpawner, icons: Icons
) -> WindowPanels:
    """Build all panels, empty, put them into the window and connect what needs no session."""
    sessions = SessionPanel(theme)
    shown = _build_session_panels(window, theme, diffs, spawner)
    conversation = ConversationPane(shown.transcript)
    window.set_panels(Panels(sessions, shown.files, conversation, shown.composer, shown.review, shown.jobs))
    FocusKeeper(shown.transcript, shown.composer, window)
    panels = WindowPanels(
        window=window,
        sessions=sessions,
        search=SearchPanel(theme, window),
        files=shown.files,
        conversation=conversation,
        transcript=shown.transcript,
        composer=shown.composer,
        pickers=shown.pickers,
        models=ModelPicker(window, shown.pickers.model_button, shown.composer, theme, icons, window.memory, now=_now),
        review=shown.review,
        jobs=shown.jobs,
        session=SessionController(window, theme, shown, diffs, spawner.spawn, _now, judges.judge),
        judges=judges,
        pasted_keys=PastedKeys(window),
        diffs=diffs,
    )
    _connect(panels)
    return panels


def _build_session_panels(window: MainWindow, theme: Theme, diffs: BlobDiffs, spawner: TaskSpawner) -> SessionPanels:
    files = FileTree(theme, spawner.spawn)
    transcript = TranscriptView(theme, loader=CardLoader(diffs, spawner.spawn))
    composer = Composer(theme)
    pickers = ModePickers(composer)
    for button in (pickers.model_button, pickers.approval_button, pickers.sandbox_button):
        composer.controls.add(button)
    jobs = JobsPanel(theme, _now)
    review = ReviewPanel(theme, diffs, spawner.spawn, make_git=diffs.git_source)
    if (mode := window.memory.diff_mode) is not None:
        review.set_diff_mode(mode)
    return SessionPanels(transcript, composer, pickers, review, files, jobs)


def _connect(panels: WindowPanels) -> None:
    """Connect what panels ask of the window, and the actions that lead to panels."""
    window, actions = panels.window, panels.window.actions_
    panels.jobs.closed.connect(window.hide_jobs)
    panels.review.diff_mode_changed.connect(window.memory.remember_diff_mode)
    panels.sessions.set_arrangement(window.memory.arrangement)
    panels.sessions.arranged.connect(window.memory.remember_arrangement)
    actions.show_keys(actions.filter_files, panels.files.set_filter_shortcut)
    actions.show_keys(actions.choose_model, panels.pickers.set_model_keys)
    panels.pickers.model_shown.connect(panels.models.show_model)
    panels.composer.prompt_submitted.connect(panels.models.note_use)
    panels.transcript.entry_actions.model_requested.connect(panels.models.open)
    actions.connect(actions.choose_model, panels.models.open)
    panels.composer.edit.refuses = panels.pasted_keys.refuses
    actions.connect(actions.find, panels.conversation.find_bar.open_bar)
    actions.connect(actions.filter_files, window.side.show)
    actions.connect(actions.filter_files, panels.files.focus_filter)
    actions.connect(actions.focus_composer, panels.composer.setFocus)
    actions.connect(actions.search, panels.search.open_popup)


def _now() -> datetime:
    return datetime.now(UTC)
