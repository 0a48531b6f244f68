"""The section about keys: each action of the window with the keys that it has unless the user says otherwise."""

from desktop_agent.core.settings.declaring import Section, section, setting
from desktop_agent.core.settings.keyboard.part_sections import (
    ComposerKeys,
    ConversationKeys,
    DiffKeys,
    TerminalKeys,
    ViewerKeys,
)


def _keys(action: str, *keys: str) -> tuple[str, ...]:
    return setting(
        keys, title=action, text="The keys for this action, in the whole window.", holds="keys", unset="no keys"
    )


_IN_A_PART = "The keys of this part of the window, where they come before those that work everywhere."


class KeySettings(Section, frozen=True, kw_only=True):
    """`[keys]`: the keys of each action of the window. An empty list leaves it without."""

    new_session: tuple[str, ...] = _keys("New session", "Ctrl+N")
    new_window: tuple[str, ...] = _keys("New window", "Ctrl+Shift+N")
    open_folder: tuple[str, ...] = _keys("Open folder…", "Ctrl+O")
    import_session: tuple[str, ...] = _keys("Import a conversation…")
    export_session: tuple[str, ...] = _keys("Export the conversation…")
    focus_composer: tuple[str, ...] = _keys("Write a message", "Ctrl+L")
    choose_model: tuple[str, ...] = _keys("Choose a model…", "Ctrl+Shift+M")
    quote: tuple[str, ...] = _keys("Quote what is selected, or the last answer", "Ctrl+Alt+Q")
    stop: tuple[str, ...] = _keys("Stop the agent", "Ctrl+.")
    find: tuple[str, ...] = _keys("Find in the conversation", "Ctrl+F")
    search: tuple[str, ...] = _keys("Search all sessions…", "Ctrl+Shift+F")
    command_palette: tuple[str, ...] = _keys("Command palette…", "Ctrl+K")
    go_to_file: tuple[str, ...] = _keys("Go to file…", "Ctrl+P")
    filter_files: tuple[str, ...] = _keys("Filter the files", "Ctrl+Shift+E")
    undo_turn: tuple[str, ...] = _keys("Undo the agent's turn", "Ctrl+Shift+Z")
    redo_turn: tuple[str, ...] = _keys("Redo what was undone last", "Ctrl+Shift+Y")
    rewind: tuple[str, ...] = _keys("Go back to before a message…", "Ctrl+Alt+Z")
    inspect_context: tuple[str, ...] = _keys("What the model sees…", "Ctrl+Shift+I")
    compact: tuple[str, ...] = _keys("Summarise older turns for the agent", "Ctrl+Alt+S")
    choose_changes: tuple[str, ...] = _keys("Choose which changes to review…", "Ctrl+Alt+R")
    next_undecided: tuple[str, ...] = _keys("Go to the next undecided change", "F8")
    previous_undecided: tuple[str, ...] = _keys("Go to the undecided change before", "Shift+F8")
    keep_file: tuple[str, ...] = _keys("Keep the file in review", "Ctrl+Shift+K")
    undo_file: tuple[str, ...] = _keys("Undo the file in review", "Ctrl+Shift+U")
    keep_all: tuple[str, ...] = _keys("Keep all that is listed in the review", "Ctrl+Alt+K")
    send_comments: tuple[str, ...] = _keys("Send the comments of the review…", "Ctrl+Alt+M")
    toggle_side: tuple[str, ...] = _keys("Sessions and files", "Ctrl+B")
    toggle_review: tuple[str, ...] = _keys("Review", "Ctrl+Shift+R")
    toggle_jobs: tuple[str, ...] = _keys("Background commands", "Ctrl+J")
    toggle_terminal: tuple[str, ...] = _keys("Terminal", "Ctrl+`")
    attach_terminal: tuple[str, ...] = _keys("Attach the output of the terminal", "Ctrl+Alt+A")
    open_inbox: tuple[str, ...] = _keys("Inbox", "Ctrl+Alt+I")
    usage: tuple[str, ...] = _keys("Usage…", "Ctrl+Alt+U")
    settings: tuple[str, ...] = _keys("Settings…", "Ctrl+,")
    whats_new: tuple[str, ...] = _keys("What is new…")
    shortcuts: tuple[str, ...] = _keys("Keyboard shortcuts…", "F1")
    demo: tuple[str, ...] = _keys("Try the demo")
    quit: tuple[str, ...] = _keys("Quit", "Ctrl+Q")
    composer: ComposerKeys = section(ComposerKeys, "Keys of the message", _IN_A_PART)
    diff: DiffKeys = section(DiffKeys, "Keys of a diff", _IN_A_PART)
    viewer: ViewerKeys = section(ViewerKeys, "Keys of the file viewer", _IN_A_PART)
    conversation: ConversationKeys = section(ConversationKeys, "Keys of the conversation", _IN_A_PART)
    terminal: TerminalKeys = section(TerminalKeys, "Keys of the terminal", _IN_A_PART)
