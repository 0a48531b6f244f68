"""What the user can ask for in a conversation. Every entry gets this one object and emits its signals."""

from PySide6.QtCore import QObject, Signal


class EntryActions(QObject):
    """The actions of all entries of one transcript.

    Signals:
        approval_answered: the user answered a question on its card: call id and decision, once.
        approval_edited: the user edits the command in question: call id and the command as it is now.
        approval_opened: look at a question (call id) in full.
        stop_requested: stop the running turn.
        changes_requested: show what a call (id) changed.
        recover_requested: put back what a call (id) destroyed.
        output_requested: show the whole output of a `ToolEntry`.
        file_requested: open a file: its path as a tool gave it, and a line from 1, or 0 for none.
        quote_requested: quote this text in the message that is being written.
        apply_requested: write this code into a file: the code, and the paths (a tuple) that are named for it.
        picture_requested: show a picture (`BlobRef`) large, of this `ToolEntry`.
        attachment_requested: show what came with a prompt: an `Attachment`.
        link_activated: open this web address; always http or https.
        retry_requested: ask the model again after an error.
        try_now_requested: ask the model now, instead of waiting before the next try.
        settings_requested: open the settings.
        sign_in_requested: sign in again, as the account by which the conversation goes on.
        model_requested: let the user choose another account, or another model.
        folder_requested: let the user choose another folder.
        resend_requested: send this prompt (turn, new text) again in a copy of the conversation that ends before it;
            whether files are to be put back, too.
        edit_changed: an earlier prompt (turn) is being edited, and reads so now.
        edit_closed: the edit of a prompt (turn) was sent or dropped.
        session_requested: show this session.
        rewind_requested: the user wants to go back to before this turn; asks how first.
        example_chosen: the user picked this prompt in an empty conversation.
        summary_edit_requested: the user wants to rewrite the summary that is in force.
        summary_undo_requested: the agent shall see the summarised turns again.
    """

    approval_answered = Signal(str, object)
    approval_edited = Signal(str, str)
    approval_opened = Signal(str)
    stop_requested = Signal()
    changes_requested = Signal(str)
    recover_requested = Signal(str)
    output_requested = Signal(object)
    file_requested = Signal(str, int)
    quote_requested = Signal(str)
    apply_requested = Signal(str, object)
    picture_requested = Signal(object, object)
    attachment_requested = Signal(object)
    link_activated = Signal(str)
    retry_requested = Signal()
    try_now_requested = Signal()
    settings_requested = Signal()
    sign_in_requested = Signal()
    model_requested = Signal()
    folder_requested = Signal()
    resend_requested = Signal(int, str, bool)
    edit_changed = Signal(int, str)
    edit_closed = Signal(int)
    session_requested = Signal(str)
    rewind_requested = Signal(int)
    example_chosen = Signal(str)
    summary_edit_requested = Signal()
    summary_undo_requested = Signal()
