"""The widgets that show a session."""

from msgspec import Struct

from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.files.file_panel import FileTree
from desktop_agent.ui.jobs_panel import JobsPanel
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.window.bar import TopBar
from desktop_agent.ui.window.mode_pickers import ModePickers


class SessionPanels(Struct, frozen=True):
    """They know no session; `session_wiring` connects them with the one that is shown."""

    top_bar: TopBar
    transcript: TranscriptView
    composer: Composer
    pickers: ModePickers
    review: ReviewPanel
    files: FileTree
    jobs: JobsPanel
