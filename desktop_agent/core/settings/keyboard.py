"""The keys of the window: how they are written, the sections `[keys]` of the settings, and which keys are in force.

Keys are written as Qt's portable text (`Ctrl+Shift+F`), without importing Qt.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final, cast

from desktop_agent.core.base.regex import regex
from desktop_agent.core.settings.declaring import Section, section, setting

_MODIFIERS: Final[Mapping[str, str]] = {
    "meta": "Meta", "ctrl": "Ctrl", "control": "Ctrl", "alt": "Alt", "option": "Alt", "shift": "Shift",
}  # fmt: skip

_ORDER: Final = tuple(dict.fromkeys(_MODIFIERS.values()))

NAMED_KEYS: Final = (
    *("Esc", "Tab", "Backspace", "Return", "Enter", "Ins", "Del", "Pause", "Print", "Home", "End"),
    *("Left", "Up", "Right", "Down", "PgUp", "PgDown", "Space", "Menu", "Help", "Back", "Forward"),
    *(f"F{number}" for number in range(1, 36)),
)

_NAMES: Final = {name.lower(): name for name in NAMED_KEYS} | {
    "escape": "Esc",
    "insert": "Ins",
    "delete": "Del",
    "pageup": "PgUp",
    "pagedown": "PgDown",
}
_FUNCTION_KEY: Final = regex(r"F[0-9]+")
_LAST_COMMA: Final = regex(r"(?<=[^+]),$")
_BLANKS_INSIDE: Final = regex(r"(?<=\w)\s*\+\s*(?=\w)")

ANY: Final = ("any",)

_MOST_STROKES: Final = 4


def written_key(text: str, plain: tuple[str, ...] = ()) -> str:
    """Return keys in their stored form: `ctrl+shift+f` as `Ctrl+Shift+F`, `ctrl+k ctrl+s` as `Ctrl+K, Ctrl+S`.

    The first key must not type text, unless it is in `plain`. Raises `ValueError` with a reason for the user.
    """
    # The comma after one of several keys is not a key.
    strokes = [_LAST_COMMA.sub("", stroke) for stroke in _BLANKS_INSIDE.sub("+", text).split()] or [""]
    if len(strokes) > _MOST_STROKES:
        raise ValueError(f"{text!r} is too long: no more than {_MOST_STROKES} keys one after the other")
    kept = [_written_stroke(stroke, text) for stroke in strokes]
    if plain:  # where Enter can be a key, both keys of that name are
        kept = [stroke.replace("Return", "Enter") for stroke in kept]
    held, _, key = kept[0].rpartition("+")
    is_plain = set(held.split("+")) <= {"", "Shift"} and not _FUNCTION_KEY.fullmatch(key)
    if is_plain and plain != ANY and kept[0] not in plain:
        raise ValueError(f"{text!r} is used for writing: hold Ctrl, Alt or Meta with it, or take a function key")
    return ", ".join(kept)


def _written_stroke(stroke: str, text: str) -> str:
    rest, _, name = stroke.rpartition("+")
    if stroke == "+" or stroke.endswith("++"):
        rest, name = stroke[:-1], "+"
    key = _key(name)
    if key is None:
        raise ValueError(f"{text!r} is no key: write it as Ctrl+Shift+F, one key with those held before it")
    held: set[str] = set()
    for modifier in filter(None, rest.removesuffix("+").split("+")):
        known = _MODIFIERS.get(modifier.strip().lower())
        if known is None:
            raise ValueError(f"{modifier.strip()!r} in {text!r} is none of {', '.join(_ORDER)}")
        held.add(known)
    return "+".join((*(name for name in _ORDER if name in held), key))


def written_keys(value: object, plain: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return one key or a list of keys in stored form, without duplicates. Raises `ValueError`."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in cast("list[object]", items)):
        raise ValueError(f"{value!r} is not a list of keys")
    found = (written_key(text, plain) for text in cast("list[str]", items) if text.strip())
    return tuple(dict.fromkeys(found))


def _key(name: str) -> str | None:
    plain = name.strip()
    if len(plain) == 1:
        return plain.upper() if plain.isprintable() and len(plain.upper()) == 1 else None
    return _NAMES.get(plain.lower())


def _keys(action: str, *keys: str, where: str = "the whole window", plain: tuple[str, ...] = ()) -> tuple[str, ...]:
    text = f"The keys for this action, in {where}."
    return setting(keys, action, text, holds="keys", plain_keys=plain, unset="no keys")


_part_keys = partial(_keys, where="this part of the window")

_WRITING = ("Enter", "Shift+Enter", "Up", "Down")
_SCREEN = ("Shift+Ins", "Shift+PgUp", "Shift+PgDown")


class ComposerKeys(Section, frozen=True, kw_only=True):
    send: tuple[str, ...] = _part_keys("Send", "Enter", plain=_WRITING)
    send_at_once: tuple[str, ...] = _part_keys("Send into the running turn", "Ctrl+Enter", plain=_WRITING)
    break_line: tuple[str, ...] = _part_keys("Break the line", "Shift+Enter", plain=_WRITING)
    older: tuple[str, ...] = _part_keys("Recall the previous message", "Up", plain=_WRITING)
    newer: tuple[str, ...] = _part_keys("Recall the next message", "Down", plain=_WRITING)


class DiffKeys(Section, frozen=True, kw_only=True):
    """`[keys.diff]`: the keys of a diff. No text is typed there, so single letters work."""

    next_change: tuple[str, ...] = _part_keys("Next change", "N", "F7", plain=ANY)
    previous_change: tuple[str, ...] = _part_keys("Previous change", "P", "Shift+F7", plain=ANY)
    open: tuple[str, ...] = _part_keys("Open a folded part", "Enter", "Space", plain=ANY)
    keep: tuple[str, ...] = _part_keys("Keep the change, or leave it undecided", "K", plain=ANY)
    undo: tuple[str, ...] = _part_keys("Undo the change", "U", plain=ANY)
    redo: tuple[str, ...] = _part_keys("Redo the change", "R", plain=ANY)
    comment: tuple[str, ...] = _part_keys("Comment on the lines", "C", plain=ANY)
    wrap: tuple[str, ...] = _part_keys("Wrap long lines", "W", plain=ANY)
    edit: tuple[str, ...] = _part_keys("Edit the file here", "E", plain=ANY)
    find: tuple[str, ...] = _part_keys("Find in the changes of this file", "Ctrl+F", plain=ANY)
    copy: tuple[str, ...] = _part_keys("Copy the selected lines", "Ctrl+C", "Ctrl+Ins", plain=ANY)


class ViewerKeys(Section, frozen=True, kw_only=True):
    save: tuple[str, ...] = _part_keys("Save the file", "Ctrl+S")
    find: tuple[str, ...] = _part_keys("Find in the file", "Ctrl+F")
    go_to_line: tuple[str, ...] = _part_keys("Go to a line", "Ctrl+G")
    close_tab: tuple[str, ...] = _part_keys("Close the tab", "Ctrl+W")
    reopen_tab: tuple[str, ...] = _part_keys("Reopen the last closed tab", "Ctrl+Shift+T")
    next_tab: tuple[str, ...] = _part_keys("Next tab", "Ctrl+Tab")
    previous_tab: tuple[str, ...] = _part_keys("Previous tab", "Ctrl+Shift+Tab")


class ConversationKeys(Section, frozen=True, kw_only=True):
    select_all: tuple[str, ...] = _part_keys("Select all", "Ctrl+A", plain=ANY)
    copy: tuple[str, ...] = _part_keys("Copy what is selected", "Ctrl+C", "Ctrl+Ins", plain=ANY)
    go_to_start: tuple[str, ...] = _part_keys("Go to the beginning", "Home", plain=ANY)
    go_to_end: tuple[str, ...] = _part_keys("Go to the end", "End", plain=ANY)


class TerminalKeys(Section, frozen=True, kw_only=True):
    """`[keys.terminal]`: the keys that the terminal keeps for itself; all others go to its program."""

    copy: tuple[str, ...] = _part_keys("Copy what is selected", "Ctrl+Shift+C", "Ctrl+Ins", plain=_SCREEN)
    paste: tuple[str, ...] = _part_keys("Paste", "Ctrl+Shift+V", "Shift+Ins", plain=_SCREEN)
    find: tuple[str, ...] = _part_keys("Find in the terminal", "Ctrl+Shift+F", plain=_SCREEN)
    scroll_up: tuple[str, ...] = _part_keys("Scroll up", "Shift+PgUp", plain=_SCREEN)
    scroll_down: tuple[str, ...] = _part_keys("Scroll down", "Shift+PgDown", plain=_SCREEN)


_IN_A_PART = "The keys of this part of the window, where they take precedence over those that work everywhere."


class KeySettings(Section, frozen=True, kw_only=True):
    """`[keys]`: the keys of each action of the window. An empty list leaves an action without keys."""

    new_session: tuple[str, ...] = _keys("New session", "Ctrl+N")
    next_session: tuple[str, ...] = _keys("Next session", "Ctrl+PgDown")
    previous_session: tuple[str, ...] = _keys("Previous session", "Ctrl+PgUp")
    new_worktree: tuple[str, ...] = _keys("New session in a worktree…", "Ctrl+Alt+N")
    bring_back: tuple[str, ...] = _keys("Bring the worktree's changes back…", "Ctrl+Alt+J")
    try_with: tuple[str, ...] = _keys("Try with…", "Ctrl+Alt+V")
    variants: tuple[str, ...] = _keys("Compare variants…", "Ctrl+Alt+C")
    worktrees: tuple[str, ...] = _keys("Worktrees…", "Ctrl+Alt+O")
    new_window: tuple[str, ...] = _keys("New window", "Ctrl+Shift+N")
    open_folder: tuple[str, ...] = _keys("Open folder…", "Ctrl+O")
    choose_branch: tuple[str, ...] = _keys("Branches…", "Ctrl+Alt+B")
    import_session: tuple[str, ...] = _keys("Import a conversation…")
    export_session: tuple[str, ...] = _keys("Export the conversation…")
    focus_composer: tuple[str, ...] = _keys("Write a message", "Ctrl+L")
    choose_model: tuple[str, ...] = _keys("Choose a model…", "Ctrl+Shift+M")
    quote: tuple[str, ...] = _keys("Quote the selection, or the last answer", "Ctrl+Alt+Q")
    stop: tuple[str, ...] = _keys("Stop the agent", "Ctrl+.")
    find: tuple[str, ...] = _keys("Find in the conversation", "Ctrl+F")
    search: tuple[str, ...] = _keys("Search all sessions…", "Ctrl+Shift+F")
    command_palette: tuple[str, ...] = _keys("Command palette…", "Ctrl+K")
    go_to_file: tuple[str, ...] = _keys("Go to file…", "Ctrl+P")
    filter_files: tuple[str, ...] = _keys("Filter the files", "Ctrl+Shift+E")
    undo_turn: tuple[str, ...] = _keys("Undo the agent's turn", "Ctrl+Shift+Z")
    redo_turn: tuple[str, ...] = _keys("Redo the last undo", "Ctrl+Shift+Y")
    rewind: tuple[str, ...] = _keys("Go back to before a message…", "Ctrl+Alt+Z")
    inspect_context: tuple[str, ...] = _keys("What the model sees…", "Ctrl+Shift+I")
    compact: tuple[str, ...] = _keys("Summarise older turns for the agent", "Ctrl+Alt+S")
    plan_first: tuple[str, ...] = _keys("Plan first, or stop planning", "Ctrl+Shift+L")
    open_plan: tuple[str, ...] = _keys("Plan…", "Ctrl+Alt+P")
    carry_out_plan: tuple[str, ...] = _keys("Carry out the plan", "Ctrl+Shift+X")
    carry_out_plan_apart: tuple[str, ...] = _keys("Carry out the plan in a worktree", "Ctrl+Shift+J")
    choose_changes: tuple[str, ...] = _keys("Choose which changes to review…", "Ctrl+Alt+R")
    next_undecided: tuple[str, ...] = _keys("Go to the next undecided change", "F8")
    previous_undecided: tuple[str, ...] = _keys("Go to the previous undecided change", "Shift+F8")
    keep_file: tuple[str, ...] = _keys("Keep the file in review", "Ctrl+Shift+K")
    undo_file: tuple[str, ...] = _keys("Undo the file in review", "Ctrl+Shift+U")
    keep_all: tuple[str, ...] = _keys("Keep everything listed in the review", "Ctrl+Alt+K")
    commit: tuple[str, ...] = _keys("Commit what you keep…", "Ctrl+Alt+G")
    undo_commit: tuple[str, ...] = _keys("Undo the last commit", "Ctrl+Shift+G")
    send_comments: tuple[str, ...] = _keys("Send the comments of the review…", "Ctrl+Alt+M")
    toggle_side: tuple[str, ...] = _keys("Sessions and files", "Ctrl+B")
    toggle_review: tuple[str, ...] = _keys("Review", "Ctrl+Shift+R")
    enlarge_review: tuple[str, ...] = _keys("Review in the whole window", "Ctrl+Alt+W")
    toggle_jobs: tuple[str, ...] = _keys("Background work", "Ctrl+J")
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


KEYS_SECTION = "keys"

Keys = Mapping[str, tuple[str, ...]]


def group_of(action: str) -> str:
    return action.rpartition(".")[0]


def clash(one: str, other: str) -> bool:
    """Whether only one of these entries can have an effect: they are equal, or one begins with the other."""
    first, second = (f"{keys}, ".replace("Return", "Enter") for keys in (one, other))
    return first.startswith(second) or second.startswith(first)


def keys_in_force(wanted: Keys, defaults: Keys) -> dict[str, tuple[str, ...]]:
    """Return the keys of each action. If two actions in one place share a key, only one of them keeps it.

    The user's choice takes precedence over a default; otherwise the first action does.
    """
    taken: dict[str, list[str]] = {}
    kept: dict[str, tuple[str, ...]] = {}
    chosen_first = sorted(wanted, key=lambda action: wanted[action] == defaults[action])
    for action in chosen_first:
        before = taken.setdefault(group_of(action), [])
        kept[action] = tuple(keys for keys in wanted[action] if not any(clash(keys, other) for other in before))
        before += kept[action]
    return {action: kept[action] for action in wanted}


def keys_of(values: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    prefix = f"{KEYS_SECTION}."
    return {
        key.removeprefix(prefix): value
        for key, value in values.items()
        if key.startswith(prefix) and isinstance(value, tuple)
    }
