"""The buttons above a code block in an answer: copy it, or apply it to a file named in the text."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from PySide6.QtCore import QObject, QPoint, QRect, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.ui.chat.text.styles import CODE_HEADER
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import compact_button

_PATH = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*")
_WITHOUT_DOT = frozenset(("Dockerfile", "Makefile", "Justfile", "Procfile", "LICENSE", "Gemfile", "Rakefile"))
_SUFFIX = re.compile(r"\.[A-Za-z][\w-]{0,9}\Z")
_COMMENT = re.compile(r"\s*(?:#+|//+|--|;+|/\*|<!--|%)\s*(.*)")
_QUOTED = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")
_LINES_BEFORE = 3
_LONGEST_LINE = 300
_FAR = 2_000

_NO_FILES = frozenset(
    ("bash", "console", "diff", "math", "mermaid", "output", "patch", "sh", "shell", "terminal", "zsh")
)
"""Languages that are run or read rather than saved, unless a file is named."""


def named_paths(source: str, start: int, code: str) -> tuple[str, ...]:
    """Return the relative paths named in the text around the fence at `start`, likeliest first."""
    line_end = source.find("\n", start)
    info = source[start:line_end] if line_end >= 0 else ""
    found = [
        *_paths_in(info[:_LONGEST_LINE].strip(" `~")),
        *_in_comment(code),
        *_before(source[max(0, start - _FAR) : start]),
    ]
    return tuple(dict.fromkeys(found))


def is_for_a_file(language: str, paths: tuple[str, ...]) -> bool:
    return bool(paths) or language.lower() not in _NO_FILES


def _in_comment(code: str) -> Iterator[str]:
    comment = _COMMENT.fullmatch(code.partition("\n")[0][:_LONGEST_LINE])
    words = comment[1].removesuffix("*/").removesuffix("-->").split() if comment is not None else []
    if len(words) == 1 or (len(words) == 2 and words[0].lower() in ("file:", "filename:", "path:")):
        yield from _paths_in(words[-1])


def _before(source: str) -> Iterator[str]:
    lines = [line[-_LONGEST_LINE:] for line in source.splitlines() if line.strip()]
    for line in reversed(lines[-_LINES_BEFORE:]):
        if line.lstrip().startswith(("```", "~~~")):
            return
        quoted = [code or bold for code, bold in _QUOTED.findall(line)]
        last = line.rstrip(" :*").rpartition(" ")[2]
        for words in [last, *reversed(quoted)]:
            yield from _paths_in(words.strip("`*():"))


def _paths_in(text: str) -> Iterator[str]:
    for word in re.split(r"[\s\"'=:,{}()]+", text):
        path = word.removeprefix("./")
        name = path.rpartition("/")[2]
        is_name = name in _WITHOUT_DOT or _SUFFIX.search(name) is not None
        if is_name and _PATH.fullmatch(path) and ".." not in path.split("/") and not path.startswith("www."):
            yield path


FenceAct = Literal["copy", "apply"]


class FenceButtons(QObject):
    wanted = Signal(str, int)  # a FenceAct, and the first block of the fence
    changed = Signal()

    def __init__(self, entry: QWidget) -> None:
        super().__init__(entry)
        self._entry = entry
        self._shown: dict[tuple[FenceAct, int], QPushButton] = {}
        self._spare: dict[FenceAct, list[QPushButton]] = {"copy": [], "apply": []}
        self._timer = one_shot(self, 1_500, self._on_copied_seen)

    def place(self, origin: QPoint, fences: Sequence[tuple[int, QRect, bool]]) -> None:
        """Place the buttons. Each of the `fences` has its first block, its frame, and whether a file can hold it."""
        wanted: dict[tuple[FenceAct, int], QRect] = {}
        for index, frame, is_for_file in fences:
            wanted["copy", index] = frame
            if is_for_file:
                wanted["apply", index] = frame
        for act, index in [key for key in self._shown if key not in wanted]:
            button = self._shown.pop((act, index))
            button.hide()
            self._spare[act].append(button)
        for (act, index), frame in wanted.items():
            if (act, index) not in self._shown:
                self._shown[act, index] = self._spare[act].pop() if self._spare[act] else self._make(act)
                self._shown[act, index].show()
            button = self._shown[act, index]
            size = button.sizeHint()
            right = frame.right() - Space.XS
            if act == "apply":
                right -= self._shown["copy", index].width() + Space.XS
            at = origin + QPoint(right - size.width(), frame.top() + (CODE_HEADER - size.height()) // 2)
            button.setGeometry(QRect(at, size))

    def say_copied(self, index: int) -> None:
        if (button := self._shown.get(("copy", index))) is not None:
            button.setText(self.tr("Copied"))
            self._timer.start()
            self.changed.emit()

    def in_order(self) -> list[QPushButton]:
        return [self._shown[key] for key in sorted(self._shown, key=lambda key: (key[1], key[0] != "apply"))]

    def stop(self) -> None:
        self._timer.stop()

    def _make(self, act: FenceAct) -> QPushButton:
        if act == "copy":
            text, object_name, name = self.tr("Copy"), "copyCodeButton", self.tr("Copy code")
        else:
            text, object_name, name = self.tr("Apply…"), "applyCodeButton", self.tr("Apply code to a file")
        button = compact_button(text, object_name, accessible_name=name, variant="flat", parent=self._entry)
        button.clicked.connect(self._on_clicked)
        return button

    def _on_clicked(self) -> None:
        act, index = next(key for key, button in self._shown.items() if button is self.sender())
        self.wanted.emit(act, index)

    def _on_copied_seen(self) -> None:
        shown = (button for (act, _), button in self._shown.items() if act == "copy")
        for button in (*shown, *self._spare["copy"]):
            button.setText(self.tr("Copy"))
        self.changed.emit()
