"""All panels of the window, built and arranged. This module starts no session and reads no session files."""

import os
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from desktop_agent.app.diffs import BlobDiffs
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.keyboard import keys_in_force, keys_of
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.sections import ExecutionSettings, Settings, UiSettings
from desktop_agent.core.settings.values import setting_values
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.system.processes.shell import ShellKind
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.approvals.rule_judging import RuleMaths
from desktop_agent.ui.chat.cards.tool_body import CardLoader
from desktop_agent.ui.chat.checklist import TodoPanel
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.files.file_panel import FileTree
from desktop_agent.ui.jobs_panel import JobsPanel
from desktop_agent.ui.models.model_picker import ModelPicker
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.sessions.session_list_model import Arrangement
from desktop_agent.ui.sessions.session_panel import SessionPanel
from desktop_agent.ui.sessions.session_search import SearchPanel
from desktop_agent.ui.theme import TextSizes, Theme
from desktop_agent.ui.widgets.account_fields import PastedKeys
from desktop_agent.ui.widgets.focus import FocusKeeper
from desktop_agent.ui.widgets.icons import Icons
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.conversation_pane import ConversationPane, PlanBar
from desktop_agent.ui.window.main_window import MainWindow
from desktop_agent.ui.window.mode_pickers import ModePickers
from desktop_agent.ui.window.panel_controllers import SessionPanels
from desktop_agent.ui.window.session_controller import SessionController


def apply_look(theme: Theme, settings: UiSettings) -> None:
    theme.choose_sizes(TextSizes(settings.chat_font_px, settings.code_font_px, settings.diff_font_px))
    theme.choose_density(settings.density)
    theme.choose_motion(settings.motion)
    theme.choose(settings.theme, is_colour_blind_safe=settings.colour_blind_safe_diff)


def apply_keys(actions: Actions, settings: Settings) -> None:
    wanted, defaults = keys_of(setting_values(settings)), keys_of(setting_values(Settings()))
    actions.set_keys(keys_in_force(wanted, defaults))


class RuleJudges:
    """Makes an evaluator of rules for each session that needs one. The first evaluator imports the policy."""

    def __init__(self, execution_in: Callable[[str], ExecutionSettings]) -> None:
        self.is_sandbox_available = False
        """Whether commands can be confined on this machine. It is false until a search has found a sandbox."""
        self.shell: ShellKind = "bash"
        self.execution_in = execution_in

    def judge(self, transcript: Transcript) -> RuleMaths:
        from desktop_agent.app.rule_judge import RuleJudge

        return RuleJudge(transcript, self.is_sandbox_available, self.shell, self.execution_in)


class WindowPanels(Struct, frozen=True):
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
    live: LiveSettings
    spawner: TaskSpawner
    icons: Icons
    focus: FocusKeeper


def build_panels(
    window: MainWindow, theme: Theme, paths: AppPaths, on_error: Callable[[BaseException], None]
) -> WindowPanels:
    """Build all panels, and connect what needs no session. `on_error` gets the exceptions of background work."""
    live = LiveSettings.load(paths.settings_file(), os.environ)
    theme.choose_interface_size(live.current.ui.interface_font_px)
    spawner, icons, now = TaskSpawner(on_error), Icons(theme), SystemClock().now
    diffs = BlobDiffs(Blobs(paths.blobs), SessionCatalog.of(paths))
    judges = RuleJudges(lambda _workspace: live.current.execution)
    sessions = SessionPanel(theme)
    transcript = TranscriptView(theme, loader=CardLoader(diffs, spawner.spawn))
    composer = Composer(theme)
    pickers = ModePickers(composer)
    for button in (pickers.model_button, pickers.effort_button, pickers.approval_button, pickers.sandbox_button):
        composer.controls.add(button)
    pickers.effort_button.hide()  # until a model has levels
    review = ReviewPanel(theme, diffs, spawner.spawn, make_git=diffs.git_source)
    review.adds_trailer = lambda: live.current.ui.commit_trailer
    if (mode := window.memory.diff_mode) is not None:
        review.set_diff_mode(mode)
    review.set_wrapped(is_wrapped=window.memory.wraps_lines)
    files, jobs = FileTree(theme, spawner.spawn), JobsPanel(theme, now)
    todos, plan = TodoPanel(theme), PlanBar()
    conversation = ConversationPane(transcript, plan, todos)
    window.set_panels(sessions, files, conversation, composer, review, jobs)
    shown = SessionPanels(window, theme, transcript, composer, pickers, review, files, jobs, todos, plan)
    panels = WindowPanels(
        window=window,
        sessions=sessions,
        search=SearchPanel(theme, window),
        files=files,
        conversation=conversation,
        transcript=transcript,
        composer=composer,
        pickers=pickers,
        models=ModelPicker(window, pickers.model_button, composer, theme, icons, window.memory, now=now),
        review=review,
        jobs=jobs,
        session=SessionController(shown, diffs, spawner.spawn, now, judges.judge),
        judges=judges,
        pasted_keys=PastedKeys(window),
        diffs=diffs,
        live=live,
        spawner=spawner,
        icons=icons,
        focus=FocusKeeper(transcript, composer, window),
    )
    _connect(panels)
    window.top_bar.attach_icons(icons)
    apply_look(theme, live.current.ui)
    apply_keys(window.actions_, live.current)
    window.memory.remember_look(live.current.ui.theme, live.current.ui.interface_font_px)
    return panels


def _connect(panels: WindowPanels) -> None:
    window, actions = panels.window, panels.window.actions_
    panels.jobs.closed.connect(window.hide_jobs)
    panels.files.repository_changed.connect(panels.conversation.plan.note_repository)
    panels.review.diff_mode_changed.connect(window.memory.remember_diff_mode)
    panels.review.wrapping_changed.connect(window.memory.remember_wrapping)
    panels.review.enlarge_clicked.connect(window.toggle_enlarged_review)
    panels.review.bring_back_clicked.connect(actions.bring_back.trigger)
    panels.composer.controls.offer_with_send([actions.try_with])
    window.review_enlarged.connect(panels.review.set_enlarged)
    actions.show_keys(actions.enlarge_review, panels.review.set_enlarge_keys)
    panels.sessions.set_arrangement(window.memory.kept("sessions", Arrangement, Arrangement()))
    panels.sessions.arranged.connect(partial(window.memory.keep, "sessions"))
    actions.show_keys(actions.filter_files, panels.files.set_filter_shortcut)
    actions.show_keys(actions.choose_model, panels.pickers.set_model_keys)
    panels.pickers.model_shown.connect(panels.models.show_model)
    panels.composer.prompt_submitted.connect(panels.models.note_use)
    panels.transcript.entry_actions.model_requested.connect(panels.models.open)
    actions.choose_model.triggered.connect(panels.models.open)
    panels.composer.edit.refuses = panels.pasted_keys.refuses
    actions.find.triggered.connect(panels.conversation.find_bar.open_bar)
    actions.filter_files.triggered.connect(window.side.show)
    actions.filter_files.triggered.connect(panels.files.focus_filter)
    actions.focus_composer.triggered.connect(panels.composer.setFocus)
    actions.search.triggered.connect(panels.search.open_popup)
