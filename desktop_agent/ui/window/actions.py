"""The window's actions with their names and shortcuts, shared by menus, buttons and tests."""

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.part_keys import KeysOfParts

_tr = partial(QCoreApplication.translate, "Actions")


class Actions:
    def __init__(self, window: QWidget) -> None:
        self.all: list[QAction] = []
        self.parts = KeysOfParts(window)
        self._window = window
        self.new_session = self._add("new_session", _tr("New session"), "Ctrl+N")
        self.next_session = self._add("next_session", _tr("Next session"), "Ctrl+PgDown")
        self.previous_session = self._add("previous_session", _tr("Previous session"), "Ctrl+PgUp")
        self.new_worktree = self._add("new_worktree", _tr("New session in a worktree…"), "Ctrl+Alt+N")
        self.bring_back = self._add("bring_back", _tr("Bring the worktree's changes back…"), "Ctrl+Alt+J")
        self.try_with = self._add("try_with", _tr("Try with…"), "Ctrl+Alt+V")
        self.variants = self._add("variants", _tr("Compare variants…"), "Ctrl+Alt+C")
        self.worktrees = self._add("worktrees", _tr("Worktrees…"), "Ctrl+Alt+O")
        self.new_window = self._add("new_window", _tr("New window"), "Ctrl+Shift+N")
        self.open_folder = self._add("open_folder", _tr("Open folder…"), "Ctrl+O")
        self.choose_branch = self._add("choose_branch", _tr("Branches…"), "Ctrl+Alt+B")
        self.import_session = self._add("import_session", _tr("Import a conversation…"))
        self.export_session = self._add("export_session", _tr("Export the conversation…"))
        self.focus_composer = self._add("focus_composer", _tr("Write a message"), "Ctrl+L")
        self.choose_model = self._add("choose_model", _tr("Choose a model…"), "Ctrl+Shift+M")
        self.quote = self._add("quote", _tr("Quote the selection, or the last answer"), "Ctrl+Alt+Q")
        self.stop = self._add("stop", _tr("Stop the agent"), "Ctrl+.")
        self.find = self._add("find", _tr("Find in the conversation"), "Ctrl+F")
        self.search = self._add("search", _tr("Search all sessions…"), "Ctrl+Shift+F")
        self.command_palette = self._add("command_palette", _tr("Command palette…"), "Ctrl+K")
        self.go_to_file = self._add("go_to_file", _tr("Go to file…"), "Ctrl+P")
        self.filter_files = self._add("filter_files", _tr("Filter the files"), "Ctrl+Shift+E")
        self.undo_turn = self._add("undo_turn", _tr("Undo the agent's turn"), "Ctrl+Shift+Z")
        self.redo_turn = self._add("redo_turn", _tr("Redo the last undo"), "Ctrl+Shift+Y")
        self.rewind = self._add("rewind", _tr("Go back to before a message…"), "Ctrl+Alt+Z")
        self.inspect_context = self._add("inspect_context", _tr("What the model sees…"), "Ctrl+Shift+I")
        self.compact = self._add("compact", _tr("Summarise older turns for the agent"), "Ctrl+Alt+S")
        self.plan_first = self._add("plan_first", _tr("Plan first, or stop planning"), "Ctrl+Shift+L")
        self.open_plan = self._add("open_plan", _tr("Plan…"), "Ctrl+Alt+P")
        self.carry_out_plan = self._add("carry_out_plan", _tr("Carry out the plan"), "Ctrl+Shift+X")
        self.carry_out_plan_apart = self._add(
            "carry_out_plan_apart", _tr("Carry out the plan in a worktree"), "Ctrl+Shift+J"
        )
        self.choose_changes = self._add("choose_changes", _tr("Choose which changes to review…"), "Ctrl+Alt+R")
        self.next_undecided = self._add("next_undecided", _tr("Go to the next undecided change"), "F8")
        self.previous_undecided = self._add(
            "previous_undecided", _tr("Go to the previous undecided change"), "Shift+F8"
        )
        self.keep_file = self._add("keep_file", _tr("Keep the file in review"), "Ctrl+Shift+K")
        self.undo_file = self._add("undo_file", _tr("Undo the file in review"), "Ctrl+Shift+U")
        self.keep_all = self._add("keep_all", _tr("Keep everything listed in the review"), "Ctrl+Alt+K")
        self.commit = self._add("commit", _tr("Commit what you keep…"), "Ctrl+Alt+G")
        self.undo_commit = self._add("undo_commit", _tr("Undo the last commit"), "Ctrl+Shift+G")
        self.send_comments = self._add("send_comments", _tr("Send the comments of the review…"), "Ctrl+Alt+M")
        self.toggle_side = self._add("toggle_side", _tr("Sessions and files"), "Ctrl+B")
        self.toggle_review = self._add("toggle_review", _tr("Review"), "Ctrl+Shift+R")
        self.enlarge_review = self._add("enlarge_review", _tr("Review in the whole window"), "Ctrl+Alt+W")
        self.toggle_jobs = self._add("toggle_jobs", _tr("Background work"), "Ctrl+J")
        self.toggle_terminal = self._add("toggle_terminal", _tr("Terminal"), "Ctrl+`")
        self.attach_terminal = self._add("attach_terminal", _tr("Attach the output of the terminal"), "Ctrl+Alt+A")
        self.open_inbox = self._add("open_inbox", _tr("Inbox"), "Ctrl+Alt+I")
        self.usage = self._add("usage", _tr("Usage…"), "Ctrl+Alt+U")
        self.settings = self._add("settings", _tr("Settings…"), "Ctrl+,")
        self.whats_new = self._add("whats_new", _tr("What is new…"))
        self.shortcuts = self._add("shortcuts", _tr("Keyboard shortcuts…"), "F1")
        self.demo = self._add("demo", _tr("Try the demo"))
        self.quit = self._add("quit", _tr("Quit"), "Ctrl+Q")

    def _add(self, name: str, text: str, shortcut: str = "") -> QAction:
        """Add an action. `shortcut` is in Qt's portable notation."""
        action = QAction(text, self._window)
        action.setObjectName(name)
        if shortcut:
            action.setShortcut(QKeySequence(shortcut))
        self._window.addAction(action)
        self.all.append(action)
        return action

    def set_keys(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Set the keys of actions. A name like `part.action` is of a part of the window."""
        self.parts.use(keys)
        for action in self.all:
            wanted = [QKeySequence(each) for each in keys.get(action.objectName(), ())]
            if wanted != action.shortcuts():
                action.setShortcuts(wanted)

    def show_keys(self, action: QAction, show: Callable[[str], object]) -> None:
        def tell() -> None:
            show(action.shortcut().toString(QKeySequence.SequenceFormat.NativeText))

        tell()
        action.changed.connect(tell)
