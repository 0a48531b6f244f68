"""Every widget of the window, built and arranged. Nothing in here starts a session or reads a file."""

from datetime import UTC, datetime

from msgspec import Struct
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.app.review.diffs import BlobDiffs
from desktop_agent.app.review.git_review import GitReview
from desktop_agent.app.review.rule_judge import RuleJudges
from desktop_agent.ui.chat.cards.source import CardLoader
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.search.find_bar import FindBar
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.files.panel import FileTree
from desktop_agent.ui.jobs.panel import JobsPanel
from desktop_agent.ui.review.panel.panel import ReviewPanel
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.sessions.panel import SessionList
from desktop_agent.ui.sessions.search_panel import SearchPanel
from desktop_agent.ui.settings.hold_banner import HoldBanner
from desktop_agent.ui.settings.project_banner import ProjectBanner
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.banner import Banner
from desktop_agent.ui.widgets.focus_keeper import FocusKeeper
from desktop_agent.ui.widgets.icons import Icons
from desktop_agent.ui.window.main_window import MainWindow, Panels
from desktop_agent.ui.window.mode_pickers import ModePickers
from desktop_agent.ui.window.session_panels import SessionPanels
from desktop_agent.ui.window.session_wiring import SessionWiring
from desktop_agent.ui.window.viewing_bar import ViewingBar


class WindowPanels(Struct, frozen=True):
    """The window and what its controller needs to reach in it."""

    window: MainWindow
    sessions: SessionList
    search: SearchPanel
    files: FileTree
    transcript: TranscriptView
    composer: Composer
    pickers: ModePickers
    review: ReviewPanel
    banner: Banner
    project_banner: ProjectBanner
    hold_banner: HoldBanner
    viewing_bar: ViewingBar
    wiring: SessionWiring
    judges: RuleJudges


def build_panels(
    window: MainWindow, theme: Theme, icons: Icons, diffs: BlobDiffs, judges: RuleJudges, spawner: TaskSpawner
) -> WindowPanels:
    """Build all panels, empty, put them into the window and connect what needs no session."""
    sessions = SessionList(theme)
    files = FileTree(theme, spawner.spawn)
    transcript = TranscriptView(theme, loader=CardLoader(diffs, spawner.spawn))
    composer = Composer(theme)
    pickers = ModePickers(composer)
    composer.add_control(pickers.model_button)
    composer.add_control(pickers.approval_button)
    composer.add_control(pickers.sandbox_button)
    jobs = JobsPanel(theme, _now)
    review = ReviewPanel(theme, diffs, spawner.spawn, git=GitReview(diffs.comparer))
    banner = Banner()
    project_banner = ProjectBanner()
    hold_banner = HoldBanner()
    viewing_bar = ViewingBar()
    find_bar = FindBar(transcript.finder, transcript)
    conversation = _stack(viewing_bar, hold_banner, banner, project_banner, find_bar, transcript)
    window.furnish(Panels(sessions, files, conversation, composer, review, jobs))
    window.top_bar.attach_icons(icons)
    FocusKeeper(transcript, composer, window)
    actions = window.actions_
    panels = SessionPanels(window.top_bar, transcript, composer, pickers, review, files, jobs)
    wiring = SessionWiring(window, theme, actions, panels, diffs, spawner.spawn, _now, judges.judge)
    wiring.review_requested.connect(window.review.show)
    jobs.closed.connect(window.hide_jobs)
    review.diff_mode_changed.connect(window.memory.remember_diff_mode)
    if (mode := window.memory.diff_mode) is not None:
        review.set_diff_mode(mode)
    files.set_filter_shortcut(actions.filter_files.shortcut().toString())
    actions.connect(actions.find, find_bar.open_bar)
    actions.connect(actions.filter_files, window.side.show)
    actions.connect(actions.filter_files, files.focus_filter)
    actions.connect(actions.focus_composer, composer.setFocus)
    search = SearchPanel(theme, window)
    actions.connect(actions.search, search.open_panel)
    return WindowPanels(
        window,
        sessions,
        search,
        files,
        transcript,
        composer,
        pickers,
        review,
        banner,
        project_banner,
        hold_banner,
        viewing_bar,
        wiring,
        judges,
    )


def _now() -> datetime:
    return datetime.now(UTC)


def _stack(*widgets: QWidget) -> QWidget:
    area = QWidget()
    layout = QVBoxLayout(area)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    for widget in widgets[:-1]:
        layout.addWidget(widget)
    layout.addWidget(widgets[-1], 1)
    return area
