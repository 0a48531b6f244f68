"""The sections about keys of single parts of the window, which come before those that work everywhere."""

from desktop_agent.core.settings.declaring import Section, setting
from desktop_agent.core.settings.keyboard.written_keys import ANY


def _keys(action: str, *keys: str, plain: tuple[str, ...] = ()) -> tuple[str, ...]:
    return setting(
        keys,
        title=action,
        text="The keys for this action, in this part of the window.",
        holds="keys",
        plain_keys=plain,
        unset="no keys",
    )


_WRITING = ("Enter", "Shift+Enter", "Up", "Down")
_SCREEN = ("Shift+Ins", "Shift+PgUp", "Shift+PgDown")


class ComposerKeys(Section, frozen=True, kw_only=True):
    """`[keys.composer]`: the keys of the field in which messages are written."""

    send: tuple[str, ...] = _keys("Send", "Enter", plain=_WRITING)
    send_at_once: tuple[str, ...] = _keys("Send into the running turn", "Ctrl+Enter", plain=_WRITING)
    break_line: tuple[str, ...] = _keys("Break the line", "Shift+Enter", plain=_WRITING)
    older: tuple[str, ...] = _keys("Bring back what was sent", "Up", plain=_WRITING)
    newer: tuple[str, ...] = _keys("Go on to what was sent later", "Down", plain=_WRITING)


class DiffKeys(Section, frozen=True, kw_only=True):
    """`[keys.diff]`: the keys of a diff. Nothing is written there, so letters will do."""

    next_change: tuple[str, ...] = _keys("Next change", "N", "F7", plain=ANY)
    previous_change: tuple[str, ...] = _keys("Previous change", "P", "Shift+F7", plain=ANY)
    open: tuple[str, ...] = _keys("Open a folded part", "Enter", "Space", plain=ANY)
    keep: tuple[str, ...] = _keys("Keep the change, or leave it undecided", "K", plain=ANY)
    undo: tuple[str, ...] = _keys("Undo the change", "U", plain=ANY)
    redo: tuple[str, ...] = _keys("Redo the change", "R", plain=ANY)
    comment: tuple[str, ...] = _keys("Comment on the lines", "C", plain=ANY)
    edit: tuple[str, ...] = _keys("Edit the file here", "E", plain=ANY)
    find: tuple[str, ...] = _keys("Find in the changes of this file", "Ctrl+F", plain=ANY)
    copy: tuple[str, ...] = _keys("Copy the selected lines", "Ctrl+C", "Ctrl+Ins", plain=ANY)


class ViewerKeys(Section, frozen=True, kw_only=True):
    """`[keys.viewer]`: the keys of the window that shows files."""

    save: tuple[str, ...] = _keys("Save the file", "Ctrl+S")
    find: tuple[str, ...] = _keys("Find in the file", "Ctrl+F")
    go_to_line: tuple[str, ...] = _keys("Go to a line", "Ctrl+G")
    close_tab: tuple[str, ...] = _keys("Close the tab", "Ctrl+W")
    reopen_tab: tuple[str, ...] = _keys("Open the tab again that was closed last", "Ctrl+Shift+T")
    next_tab: tuple[str, ...] = _keys("Next tab", "Ctrl+Tab")
    previous_tab: tuple[str, ...] = _keys("Previous tab", "Ctrl+Shift+Tab")


class ConversationKeys(Section, frozen=True, kw_only=True):
    """`[keys.conversation]`: the keys of the conversation, where it is read."""

    select_all: tuple[str, ...] = _keys("Select all", "Ctrl+A", plain=ANY)
    copy: tuple[str, ...] = _keys("Copy what is selected", "Ctrl+C", "Ctrl+Ins", plain=ANY)
    go_to_start: tuple[str, ...] = _keys("Go to its beginning", "Home", plain=ANY)
    go_to_end: tuple[str, ...] = _keys("Go to its end", "End", plain=ANY)


class TerminalKeys(Section, frozen=True, kw_only=True):
    """`[keys.terminal]`: the keys that the terminal keeps for itself; all others go to its program."""

    copy: tuple[str, ...] = _keys("Copy what is selected", "Ctrl+Shift+C", "Ctrl+Ins", plain=_SCREEN)
    paste: tuple[str, ...] = _keys("Paste", "Ctrl+Shift+V", "Shift+Ins", plain=_SCREEN)
    find: tuple[str, ...] = _keys("Find in the terminal", "Ctrl+Shift+F", plain=_SCREEN)
    scroll_up: tuple[str, ...] = _keys("Scroll up", "Shift+PgUp", plain=_SCREEN)
    scroll_down: tuple[str, ...] = _keys("Scroll down", "Shift+PgDown", plain=_SCREEN)
