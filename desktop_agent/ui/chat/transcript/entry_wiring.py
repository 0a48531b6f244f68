"""Passes the signals of an entry on to the transcript view's. Imported with the first entry."""

from typing import TYPE_CHECKING

from desktop_agent.ui.chat.entries.compaction import CompactionWidget
from desktop_agent.ui.chat.entries.line import LineWidget
from desktop_agent.ui.chat.entries.linked import LinkedEntry
from desktop_agent.ui.chat.entries.notice import NoticeWidget
from desktop_agent.ui.chat.entries.prompt import PromptWidget
from desktop_agent.ui.chat.entries.tool import ToolWidget

if TYPE_CHECKING:
    from desktop_agent.ui.chat.entries.base import EntryWidget
    from desktop_agent.ui.chat.transcript.view import TranscriptView


def connect_entry(widget: "EntryWidget", view: "TranscriptView") -> None:
    """Connect the signals of an entry to those of the view that mean the same."""
    if isinstance(widget, LinkedEntry):
        widget.link_activated.connect(view.link_activated)
    match widget:
        case ToolWidget():
            widget.stop_requested.connect(view.stop_requested)
            widget.changes_requested.connect(view.changes_requested)
            widget.recover_requested.connect(view.recover_requested)
            widget.output_requested.connect(view.output_requested)
            widget.file_requested.connect(view.file_requested)
            widget.picture_requested.connect(view.picture_requested)
            widget.body_changed.connect(view.on_body_changed)
            widget.approval_answered.connect(view.approval_answered)
            widget.approval_edited.connect(view.approval_edited)
            widget.approval_opened.connect(view.approval_opened)
        case PromptWidget():
            widget.resend_requested.connect(view.resend_requested)
            widget.edit_changed.connect(view.edit_changed)
            widget.edit_closed.connect(view.edit_closed)
        case LineWidget():
            widget.session_requested.connect(view.session_requested)
        case NoticeWidget():
            widget.settings_requested.connect(view.settings_requested)
            widget.retry_requested.connect(view.retry_requested)
            widget.try_now_requested.connect(view.try_now_requested)
            widget.folder_requested.connect(view.folder_requested)
        case CompactionWidget():
            widget.edit_requested.connect(view.summary_edit_requested)
            widget.undo_requested.connect(view.summary_undo_requested)
        case _:
            pass
