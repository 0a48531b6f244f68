"""What the window can do: every action once, with its name and shortcut, shared by menus, buttons and tests."""

from collections.abc import Callable, Mapping

from msgspec import Struct
from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.part_keys import KeysOfParts


def _tr(text: str) -> str:
    return QCoreApplication.translate("Actions", text)


class _Declaration(Struct, frozen=True):
    """An action: its stable name, its text, and its shortcut as portable text, which may be empty."""

    name: str
    text: str
    shortcut: str


_DECLARATIONS = (
    _Declaration("new_session", "New session", "Ctrl+N"),
    _Declaration("new_window", "New window", "Ctrl+Shift+N"),
    _Declaration("open_folder", "Open folder…", "Ctrl+O"),
    _Declaration("import_session", "Import a conversation…", ""),
    _Declaration("export_session", "Export the conversation…", ""),
    _Declaration("focus_composer", "Write a message", "Ctrl+L"),
    _Declaration("choose_model", "Choose a model…", "Ctrl+Shift+M"),
    _Declaration("quote", "Quote the selection, or the last answer", "Ctrl+Alt+Q"),
    _Declaration("stop", "Stop the agent", "Ctrl+."),
    _Declaration("find", "Find in the conversation", "Ctrl+F"),
    _Declaration("search", "Search all sessions…", "Ctrl+Shift+F"),
    _Declaration("command_palette", "Command palette…", "Ctrl+K"),
    _Declaration("go_to_file", "Go to file…", "Ctrl+P"),
    _Declaration("filter_files", "Filter the files", "Ctrl+Shift+E"),
    _Declaration("undo_turn", "Undo the agent's turn", "Ctrl+Shift+Z"),
    _Declaration("redo_turn", "Redo the last undo", "Ctrl+Shift+Y"),
    _Declaration("rewind", "Go back to before a message…", "Ctrl+Alt+Z"),
    _Declaration("inspect_context", "What the model sees…", "Ctrl+Shift+I"),
    _Declaration("compact", "Summarise older turns for the agent", "Ctrl+Alt+S"),
    _Declaration("choose_changes", "Choose which changes to review…", "Ctrl+Alt+R"),
    _Declaration("next_undecided", "Go to the next undecided change", "F8"),
    _Declaration("previous_undecided", "Go to the previous undecided change", "Shift+F8"),
    _Declaration("keep_file", "Keep the file in review", "Ctrl+Shift+K"),
    _Declaration("undo_file", "Undo the file in review", "Ctrl+Shift+U"),
    _Declaration("keep_all", "Keep everything listed in the review", "Ctrl+Alt+K"),
    _Declaration("send_comments", "Send the comments of the review…", "Ctrl+Alt+M"),
    _Declaration("toggle_side", "Sessions and files", "Ctrl+B"),
    _Declaration("toggle_review", "Review", "Ctrl+Shift+R"),
    _Declaration("toggle_jobs", "Background commands", "Ctrl+J"),
    _Declaration("toggle_terminal", "Terminal", "Ctrl+`"),
    _Declaration("attach_terminal", "Attach the output of the terminal", "Ctrl+Alt+A"),
    _Declaration("open_inbox", "Inbox", "Ctrl+Alt+I"),
    _Declaration("usage", "Usage…", "Ctrl+Alt+U"),
    _Declaration("settings", "Settings…", "Ctrl+,"),
    _Declaration("whats_new", "What is new…", ""),
    _Declaration("shortcuts", "Keyboard shortcuts…", "F1"),
    _Declaration("demo", "Try the demo", ""),
    _Declaration("quit", "Quit", "Ctrl+Q"),
)


class Actions:
    """All actions, as attributes by name. They work wherever the focus is in the window."""

    new_session: QAction
    new_window: QAction
    open_folder: QAction
    import_session: QAction
    export_session: QAction
    focus_composer: QAction
    choose_model: QAction
    quote: QAction
    stop: QAction
    find: QAction
    search: QAction
    command_palette: QAction
    go_to_file: QAction
    filter_files: QAction
    undo_turn: QAction
    redo_turn: QAction
    rewind: QAction
    inspect_context: QAction
    compact: QAction
    choose_changes: QAction
    next_undecided: QAction
    previous_undecided: QAction
    keep_file: QAction
    undo_file: QAction
    keep_all: QAction
    send_comments: QAction
    toggle_side: QAction
    toggle_review: QAction
    toggle_jobs: QAction
    toggle_terminal: QAction
    attach_terminal: QAction
    open_inbox: QAction
    usage: QAction
    settings: QAction
    whats_new: QAction
    shortcuts: QAction
    demo: QAction
    quit: QAction

    def __init__(self, window: QWidget) -> None:
        self.all: list[QAction] = []
        self.parts = KeysOfParts(window)
        for declaration in _DECLARATIONS:
            action = QAction(_tr(declaration.text), window)
            action.setObjectName(declaration.name)
            if declaration.shortcut:
                action.setShortcut(QKeySequence(declaration.shortcut))
            setattr(self, declaration.name, action)
            window.addAction(action)
            self.all.append(action)

    def connect(self, action: QAction, slot: Callable[[], object]) -> None:
        action.triggered.connect(slot)

    def set_keys(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Give the actions, by name, these keys. Keys of `part.action` go to the parts of the window."""
        self.parts.use(keys)
        for action in self.all:
            wanted = [QKeySequence(each) for each in keys.get(action.objectName(), ())]
            if wanted != action.shortcuts():
                action.setShortcuts(wanted)

    def show_keys(self, action: QAction, show: Callable[[str], object]) -> None:
        """Call `show` with the keys of `action` as people read them, now and whenever they change."""

        def tell() -> None:
            show(action.shortcut().toString(QKeySequence.SequenceFormat.NativeText))

        tell()
        action.changed.connect(tell)
