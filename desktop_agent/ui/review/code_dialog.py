"""A dialog that applies code from an answer to a file, and shows the change before the write."""

from collections.abc import Awaitable, Sequence
from typing import Literal, NamedTuple, Protocol, TypeVar

from PySide6.QtCore import QSignalBlocker, QStringListModel, Signal
from PySide6.QtWidgets import QCompleter, QDialog, QSizePolicy, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.core.protocol.ops import WriteFile
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Picker, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import answer_with_ctrl_enter, hbox, lay_out_dialog, set_up_dialog


class ApplyTarget(NamedTuple):
    path: str
    text: str | None
    """The file's text; `None` if the file does not exist yet."""
    digest: Digest | None


class ApplySource(Protocol):
    """Reads and compares files off the window's thread. Raises `AgentError` if a file cannot be read or compared."""

    async def read(self, path: str) -> ApplyTarget: ...

    async def compare(self, target: ApplyTarget, new: str) -> FileDiff: ...

    async def offers(self, typed: str) -> Sequence[str]: ...

    def obstacle(self) -> str:
        """Return why nothing can be written now; empty if it can."""
        ...


Place = Literal["file", "lines", "end"]
"""What the code replaces: the whole file, the lines that it is a new version of, or nothing because it is appended."""

_MOSTLY = 0.8
"""Code of at least this share of a file's length probably replaces the whole file."""
_CLOSING = regex(r"[\])}]+[;,)]*\Z|end\b")
_BOM = "\ufeff"


def decoded(content: bytes) -> str | None:
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def places(text: str | None, code: str) -> tuple[Place, ...]:
    """Return the ways to place `code` in the file, likeliest first. `text` is `None` if the file does not exist."""
    if text is None or not text.strip():
        return ("file",)
    if _range_in(text, code) is None:
        return ("file", "end")
    is_whole = len(code) >= _MOSTLY * len(text)
    return ("file", "lines", "end") if is_whole else ("lines", "file", "end")


def placed(text: str | None, code: str, place: Place) -> str:
    """Return the new text of the file. Keeps the file's line endings and byte order mark."""
    code = code.replace("\r\n", "\n").rstrip("\n") + "\n"
    if text is None:
        return code
    mark = _BOM if text.startswith(_BOM) else ""
    is_dos = "\r\n" in text
    plain = text.removeprefix(_BOM).replace("\r\n", "\n")
    span = _range_in(plain, code) if place == "lines" else None
    if place == "end":
        new = plain.rstrip("\n") + "\n\n" + code
    elif span is not None:
        lines = plain.splitlines(keepends=True)
        first, last = span
        new = "".join([*lines[:first], _indented(code, lines[first]), *lines[last + 1 :]])
    else:
        new = code
    return mark + (new.replace("\n", "\r\n") if is_dos else new)


def _range_in(text: str, code: str) -> tuple[int, int] | None:
    """Return the first and last line of the part of `text` that `code` replaces; `None` if unclear."""
    lines = [line.strip() for line in text.splitlines()]
    written = [line.strip() for line in code.splitlines() if line.strip()]
    if not written or lines.count(written[0]) != 1:
        return None
    first = lines.index(written[0])
    last_written = written[-1]
    if len(written) > 1 and lines.count(last_written) == 1 and (last := lines.index(last_written)) > first:
        return first, last
    return first, _end_of_block(text.splitlines(), first)


def _end_of_block(lines: list[str], first: int) -> int:
    """Return the last line of the indented block that begins at `first`, including its closing bracket."""
    depth, last = _indent(lines[first]), first
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            continue
        if _indent(line) <= depth:
            return number if _indent(line) == depth and _CLOSING.match(line.strip()) else last
        last = number
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _indented(code: str, line: str) -> str:
    first = next(each for each in code.splitlines() if each.strip())
    missing = line[: _indent(line) - _indent(first)] if _indent(line) > _indent(first) else ""
    return "".join(missing + each if each.strip() else each for each in code.splitlines(keepends=True))


Answer = TypeVar("Answer")

_SIZE = (760, 560)


class ApplyDialog(QDialog):
    chosen = Signal(object)  # a `WriteFile`

    def __init__(
        self, theme: Theme, code: str, paths: Sequence[str], source: ApplySource, spawn: Spawn, parent: QWidget
    ) -> None:
        super().__init__(parent)
        set_up_dialog(self, "applyDialog", self.tr("Apply to file"))
        self._code, self._source, self._spawn = code, source, spawn
        self._target: ApplyTarget | None = None
        self._new = ""
        self._asked = 0
        name = self.tr("File, relative to the folder of the conversation")
        field = Picker(self, object_name="applyFileField", accessible_name=name, is_editable=True)
        field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        field.addItems(list(paths))
        self._offers = QStringListModel(self)
        self._completer = completer = QCompleter(self._offers, self)
        completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        field.setCompleter(completer)
        field.edit.setPlaceholderText(self.tr("src/example.py"))
        field.edit.textEdited.connect(self._on_edited)
        completer.activated.connect(self._on_typed)
        field.activated.connect(self._on_typed)
        self._file = field
        what = self.tr("What the code replaces")
        self._place = Picker(self, object_name="applyPlacePicker", accessible_name=what, min_chars=18)
        self._place.currentIndexChanged.connect(self._compare)
        self._note = make_label(role="secondary", object_name="applyNote", is_plain=True, wraps=True)
        self._view = DiffView(theme)
        self._view.setObjectName("applyDiffView")
        self._apply = make_button(self.tr("Write file"), "applyButton", clicked=self._on_apply, variant="primary")
        cancel = make_button(self.tr("Cancel"), clicked=self.reject)
        label = make_label(self.tr("File"))
        label.setBuddy(self._file)
        parts = (
            make_label(self.tr("Apply to file"), role="title"),
            hbox(label, (self._file, 1), self._place, spacing=Space.S),
            self._note,
            (self._view, 1),
        )
        lay_out_dialog(self, *parts, answers=(cancel, self._apply), spacing=Space.M)
        self._typing = one_shot(self, 200, self._read)
        answer_with_ctrl_enter(self, self._apply)
        self.resize(*(min(wanted, room) for wanted, room in zip(_SIZE, parent.size().toTuple(), strict=True)))
        self._file.setFocus()
        self._read()

    def _on_edited(self, typed: str) -> None:
        self._on_typed()
        self._spawn(self._offer(typed))

    def _on_typed(self) -> None:
        self._forget()
        self._typing.start()

    async def _offer(self, typed: str) -> None:
        found = await self._source.offers(typed)
        if isValid(self) and self._file.currentText() == typed:
            self._offers.setStringList(list(found))
            if found and list(found) != [typed]:
                self._completer.complete()

    def _forget(self) -> None:
        self._asked += 1
        self._target = None
        self._apply.setEnabled(False)

    def _read(self) -> None:
        self._forget()
        path = self._file.currentText().strip().removeprefix("./")
        if not path:
            self._say(self.tr("Choose a file"), self.tr("The change is shown here before it is written."))
            return
        self._spawn(self._fetch(path, self._asked))

    async def _fetch(self, path: str, asked: int) -> None:
        target = await self._answer(self._source.read(path), asked)
        if target is None:
            return
        self._target = target
        offered = places(target.text, self._code)
        words: dict[Place, str] = {
            "file": self.tr("Whole file"),
            "lines": self.tr("The lines it matches"),
            "end": self.tr("At the end"),
        }
        with QSignalBlocker(self._place):
            self._place.clear()
            for place in offered:
                self._place.addItem(words[place], place)
            self._place.fit()
        self._place.setVisible(len(offered) > 1)
        self._compare()

    async def _answer(self, answer: Awaitable[Answer], asked: int) -> Answer | None:
        """Return the source's answer; `None` if the answer is outdated, or an error that is then shown."""
        found, problem = None, None
        try:
            found = await answer
        except AgentError as error:
            problem = error
        if not isValid(self) or asked != self._asked:
            return None
        if problem is not None:
            self._say(core_words(problem.title), core_words(problem.hint))
        return found

    def _compare(self) -> None:
        if self._target is None:
            return
        self._asked += 1
        self._apply.setEnabled(False)
        self._new = placed(self._target.text, self._code, self._place.currentData())
        self._spawn(self._show_difference(self._target, self._new, self._asked))

    async def _show_difference(self, target: ApplyTarget, new: str, asked: int) -> None:
        diff = await self._answer(self._source.compare(target, new), asked)
        if diff is None:
            return
        if new == target.text:
            self._say(self.tr("Nothing to change"), self.tr("The file already contains this."))
            return
        self._view.show_diff(diff)
        obstacle = self._source.obstacle()
        is_new = self.tr("The file does not exist yet. It will be created.") if target.text is None else ""
        self._note.setText(
            obstacle or is_new or self.tr("This counts as your change, and can be undone in the review.")
        )
        self._apply.setEnabled(not obstacle)

    def _say(self, heading: str, detail: str) -> None:
        self._note.setText("")
        self._view.show_message(heading, detail)

    def _on_apply(self) -> None:
        if self._target is None or not self._apply.isEnabled():
            return
        content = self._new.encode("utf-8")
        self.chosen.emit(WriteFile(path=self._target.path, expected=self._target.digest, content=content))
        self.accept()
