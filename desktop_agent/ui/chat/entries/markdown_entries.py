"""Entries of growing markdown: answers and the pictures they name, thinking, and the output of slash commands.

Above a code block are buttons to copy it, or apply it to a file that the text names.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar, Literal
from urllib.parse import unquote

from PySide6.QtCore import QObject, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QGuiApplication, QHideEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.events import CommandRun
from desktop_agent.core.transcript import TextEntry
from desktop_agent.ui.chat.cards.result_pictures import DECODED, PictureButton
from desktop_agent.ui.chat.cards.tool_body import CardLoader, CardSource, decoded
from desktop_agent.ui.chat.entries.entry import FOLD_INDENT, EntryPlace, EntryRow, EntryWidget, LabelLine
from desktop_agent.ui.chat.markdown.blocks import bounded
from desktop_agent.ui.chat.markdown.markdown_stream import MarkdownStream
from desktop_agent.ui.chat.markdown.parser import PICTURE, InlineSpan, RichText, is_web_address
from desktop_agent.ui.chat.text.column import Column, Slice
from desktop_agent.ui.chat.text.file_links import file_of
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import CODE_HEADER, CODE_LINE
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.translation import answer_words
from desktop_agent.ui.widgets.buttons import compact_button, make_button
from desktop_agent.ui.widgets.labels import restyle
from desktop_agent.ui.widgets.layouts import discard, flow
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture

_PATH = regex(r"[\w.@+-]+(?:/[\w.@+-]+)*")
_WITHOUT_DOT = frozenset(("Dockerfile", "Makefile", "Justfile", "Procfile", "LICENSE", "Gemfile", "Rakefile"))
_SUFFIX = regex(r"\.[A-Za-z][\w-]{0,9}\Z")
_COMMENT = regex(r"\s*(?:#+|//+|--|;+|/\*|<!--|%)\s*(.*)")
_QUOTED = regex(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")
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


class NamedPictures(QObject):
    changed = Signal(bool)  # one came, went or was loaded: whether the user opened or closed it

    def __init__(self, entry: EntryWidget, loader: CardLoader | None) -> None:
        super().__init__(entry)
        self._entry = entry
        self._row = entry.row
        self._loader = loader
        self._shown: dict[tuple[int, str], PictureButton] = {}
        for opened in self._row.opened:
            index, _, address = opened.removeprefix(PICTURE).partition(":")
            if opened.startswith(PICTURE):
                self._open(int(index), address)

    def toggle(self, address: str) -> None:
        column = self._entry.column
        places = [index for index, span in column.links() if span.href == PICTURE + address]
        shown = [key for key in self._shown if key[1] == address]
        for index, _ in shown:
            discard(self._shown.pop((index, address)))
            self._row.opened.discard(f"{PICTURE}{index}:{address}")
            column.set_room(index, 0)
        if shown:
            self._row.loaded.pop(PICTURE + address, None)
        elif places:
            self._row.opened.add(f"{PICTURE}{places[0]}:{address}")
            self._open(places[0], address)
        self.changed.emit(True)

    def fit(self) -> None:
        column, heights = self._entry.column, Counter[int]()
        for (index, _), button in self._shown.items():
            button.room = max(1, column.room(index).width())
            heights[index] += Space.S + button.sizeHint().height()
        for index, height in heights.items():
            column.set_room(index, height)

    def place(self, origin: QPoint) -> None:
        column, used = self._entry.column, Counter[int]()
        places = {(index, span.href): at for at, (index, span) in enumerate(reversed(column.links()))}
        for index, address in sorted(self._shown, key=lambda key: -places.get((key[0], PICTURE + key[1]), 0)):
            button = self._shown[index, address]
            size = button.sizeHint()
            area = column.room(index).translated(origin)
            button.setGeometry(area.x(), area.y() + used[index] + Space.S, size.width(), size.height())
            used[index] += Space.S + size.height()
            button.setVisible(self._entry.is_column_shown and index < len(column.text.blocks))

    def _open(self, index: int, address: str) -> None:
        button = PictureButton(unquote(address), self._entry.styles, self._entry)
        button.setObjectName("namedPictureButton")
        actions = self._entry.entry_actions
        if is_web_address(address):
            button.setToolTip(self.tr("Open in the browser"))
            button.clicked.connect(partial(actions.link_activated.emit, address))
        else:
            button.setToolTip(self.tr("Open the file"))
            button.clicked.connect(partial(actions.file_requested.emit, unquote(address), 0))
        self._shown[index, address] = button
        key, loader = PICTURE + address, self._loader
        if key in self._row.loaded:
            self._show(button, key)
        elif loader is not None:
            work = self._read(loader.source, address)
            loader.fetch(self._row, key, work, button, partial(self._on_loaded, button, key))

    async def _read(self, source: CardSource, address: str) -> DecodedPicture:
        content = await source.named_picture(self._entry.styles.files.root, address)
        return await decoded(content, DECODED)

    def _on_loaded(self, button: PictureButton, key: str) -> None:
        self._show(button, key)
        self.changed.emit(False)

    def _show(self, button: PictureButton, key: str) -> None:
        button.show_loaded(self._row.loaded[key])
        button.setEnabled(True)  # what cannot be shown here may be shown elsewhere
        button.setCursor(Qt.CursorShape.PointingHandCursor)


class LinkedEntry(EntryWidget):
    is_tab_stop: ClassVar[bool] = False

    def __init__(self, place: EntryPlace, column: Column) -> None:
        super().__init__(place, column)
        self._focused: int | None = None

    def follow(self, href: str) -> None:
        if (place := file_of(href)) is not None:
            self.entry_actions.file_requested.emit(*place)
        elif is_web_address(href):
            self.entry_actions.link_activated.emit(href)

    def offer_links(self) -> None:
        """Let Tab reach this entry if it has links. Call this after layout."""
        has_links = bool(self._links())
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if has_links or self.is_tab_stop else Qt.FocusPolicy.NoFocus)

    def _links(self) -> list[tuple[int, InlineSpan]]:
        return self.column.links() if self.is_column_shown else []

    def _focused_link(self) -> tuple[int, InlineSpan] | None:
        links = self._links()
        return links[self._focused] if self._focused is not None and self._focused < len(links) else None

    def focusInEvent(self, event: QFocusEvent) -> None:
        links = self._links()
        if links:
            self._focused = len(links) - 1 if event.reason() == Qt.FocusReason.BacktabFocusReason else 0
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._focused = None
        super().focusOutEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        if self._focused is not None and self.hasFocus():
            at = self._focused + (1 if next else -1)
            if 0 <= at < len(self._links()):
                self._focused = at
                self.update()
                return True
        return super().focusNextPrevChild(next)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        link = self._focused_link()
        if link is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.follow(link[1].href)
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        link = self._focused_link()
        if link is None:
            return
        index, span = link
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.translate(self.column_origin)
            painter.setPen(QPen(self.styles.colour("accent"), 2))
            for rect in self.column.rects(index, span.start, span.start + span.length):
                painter.drawRoundedRect(QRectF(rect).adjusted(-2, -1, 2, 1), 3, 3)


SPOKEN_CHARS = 4_000
"""The longest accessible name, in characters, because a screen reader reads all of it at once."""
READ_S = 0.003
"""How many seconds one step may spend on parsing a text that arrived in one piece."""
_PIECE_CHARS = 1_024
_PIECE_LINES = 64
"""How many lines are parsed between two looks at the clock. Few, because unsettled text is parsed again."""
_FIRST_CHARS = 8_192
_FIRST_LINES = 80
"""How many lines are always parsed first, so that nearly every answer is shown whole at once."""


def parse_more(row: EntryRow, entry: TextEntry | CommandRun, time: Slice | None = None) -> int:
    """Return the first block that changed. With a `time`, stop when it is over; continue while `is_behind`."""
    if row.stream is None:
        row.stream = MarkdownStream()
    stream = row.stream
    text, is_open = _text_of(entry)
    changed = len(stream.blocks)
    at = start = stream.consumed
    while at < len(text):
        if time is not None and at > start and time.is_over():
            return changed
        end = bounded(text, at, _PIECE_CHARS, _PIECE_LINES) if at else bounded(text, 0, _FIRST_CHARS, _FIRST_LINES)
        changed = min(changed, stream.feed(text[at:end]))
        at = stream.consumed
    if not is_open and not stream.is_closed:
        changed = min(changed, stream.close())
    return changed


def is_behind(row: EntryRow, entry: TextEntry | CommandRun) -> bool:
    stream = row.stream
    text, is_open = _text_of(entry)
    return stream is not None and (stream.consumed < len(text) or not (is_open or stream.is_closed))


def _text_of(entry: TextEntry | CommandRun) -> tuple[str, bool]:
    return (answer_words(entry.output), False) if isinstance(entry, CommandRun) else (entry.text, entry.is_open)


class MarkdownWidget(LinkedEntry):
    writes_files: ClassVar[bool] = False

    def __init__(self, place: EntryPlace, loader: CardLoader | None, *, ink: str = "text") -> None:
        super().__init__(place, Column(place.styles, ink=ink))
        self._is_new = True
        self._arranged: object = None
        self._fences = FenceButtons(self)
        self._fences.wanted.connect(self._on_wanted)
        self._fences.changed.connect(self._arrange_again)
        self._wanted: tuple[FenceAct, int] | None = None
        self._pictures = NamedPictures(self, loader)
        self._pictures.changed.connect(self._on_pictures_changed)

    @property
    def is_behind(self) -> bool:
        return is_behind(self.row, self._written())

    def _written(self) -> TextEntry | CommandRun:
        entry = self.row.entry
        assert isinstance(entry, TextEntry | CommandRun)
        return entry

    def read(self) -> None:
        changed = 0 if self._is_new else len(self.column.text.blocks)
        changed = min(changed, parse_more(self.row, self._written(), Slice(READ_S)))
        self._is_new = False
        stream = self.row.stream
        assert stream is not None
        self.column.set_blocks(stream.blocks, stream.references, changed)
        top = self.column_origin.y() + self.column.top(max(0, changed - 1))
        self.update(0, top, self.width(), max(0, self.height() - top))
        self._do_wanted()

    def source(self) -> str:
        return self.row.stream.source if self.row.stream is not None else ""

    def set_width(self, width: int) -> None:
        super().set_width(width)
        self._pictures.fit()

    def follow(self, href: str) -> None:
        if href.startswith(PICTURE):
            self._pictures.toggle(href.removeprefix(PICTURE))
        else:
            super().follow(href)

    def _on_pictures_changed(self, is_by_user: bool) -> None:
        self._arranged = None  # a picture can be wider without being higher
        self.fit()
        (self.resized if is_by_user else self.body_changed).emit()

    def arrange(self) -> None:
        state = (self.column.revision, self.is_column_shown, self.column_origin.y())
        if state == self._arranged:
            return
        self._arranged = state
        frames = self.column.code_frames() if self.is_column_shown else []
        self._pictures.place(self.column_origin)
        self._fences.place(self.column_origin, [(index, frame, self._is_for_file(index)) for index, frame in frames])
        self.offer_links()

    def tab_stops(self) -> list[QWidget]:
        buttons = self._fences.in_order()
        return [*(each for each in super().tab_stops() if each not in buttons), *buttons]

    def _arrange_again(self) -> None:
        self._arranged = None
        self.arrange()

    def _is_for_file(self, index: int) -> bool:
        if not self.writes_files or _text_of(self._written())[1]:
            return False
        block = self.column.text.blocks[index]
        return is_for_a_file(block.language, named_paths(self.source(), block.start, block.content))

    def _on_wanted(self, act: FenceAct, index: int) -> None:
        self._wanted = (act, index)
        self._do_wanted()

    def _do_wanted(self) -> None:
        if self._wanted is None or self.is_behind:
            return
        (act, index), self._wanted = self._wanted, None
        code = self.column.text.code(index)
        if act == "apply":
            paths = named_paths(self.source(), self.column.text.blocks[index].start, code)
            self.entry_actions.apply_requested.emit(code, paths)
            return
        QGuiApplication.clipboard().setText(code)
        self._fences.say_copied(index)

    def hideEvent(self, event: QHideEvent) -> None:
        self._fences.stop()
        super().hideEvent(event)


class TextWidget(MarkdownWidget):
    writes_files: ClassVar[bool] = True
    is_tab_stop: ClassVar[bool] = True

    def __init__(self, place: EntryPlace, loader: CardLoader | None) -> None:
        super().__init__(place, loader)
        self._acts: list[QPushButton] = []
        self._timer = one_shot(self, 1_500, self._on_copied_seen)
        self.refresh()

    def refresh(self) -> None:
        self.read()
        entry = self.row.entry_as(TextEntry)
        if entry.is_open:
            self.setAccessibleName(self.tr("Answer in progress"))
        else:
            self.setAccessibleName(self.tr("Answer: {text}").format(text=" ".join(entry.text[:SPOKEN_CHARS].split())))
        if entry.is_final and not self._acts:
            self._acts = [
                self._make_act(self.tr("Copy"), self.tr("Copy the answer"), self._on_copy),
                self._make_act(self.tr("Quote"), self.tr("Quote the answer in your message"), self._on_quote),
                self._make_act(self.tr("Retry"), self.tr("Ask again, in a copy from before this turn"), self._on_again),
            ]
            restyle(self._acts[0], "edge", "true")  # its text stands below that of the answer

    def _make_act(self, text: str, name: str, clicked: Callable[[], None]) -> QPushButton:
        button = make_button(
            text, accessible_name=name, tooltip=name, clicked=clicked, variant="flat", is_compact=True, parent=self
        )
        button.show()
        return button

    def entry_height(self) -> int:
        return super().entry_height() + (Height.SMALL_BUTTON + Space.XS if self._acts else 0)

    def arrange(self) -> None:
        super().arrange()
        flow(self._acts, QRect(0, self.entry_height() - Height.SMALL_BUTTON, self._width, 0))
        for act in self._acts:
            act.resize(act.width(), Height.SMALL_BUTTON)  # also with the wider border of the focus

    def tab_stops(self) -> list[QWidget]:
        return [*(stop for stop in super().tab_stops() if stop not in self._acts), *self._acts]

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.row.entry_as(TextEntry).text)
        self._acts[0].setText(self.tr("Copied"))
        self._timer.start()
        self.arrange()

    def _on_copied_seen(self) -> None:
        self._acts[0].setText(self.tr("Copy"))
        self.arrange()

    def _on_quote(self) -> None:
        self.entry_actions.quote_requested.emit(self.row.entry_as(TextEntry).text)

    def _on_again(self) -> None:
        self.entry_actions.again_requested.emit(self.row.entry_as(TextEntry).turn)


class ThinkingWidget(MarkdownWidget):
    is_folding: ClassVar[bool] = True

    def __init__(self, place: EntryPlace, loader: CardLoader | None) -> None:
        super().__init__(place, loader, ink="muted")
        self._line = LabelLine(self)
        self.column_origin = QPoint(FOLD_INDENT, Height.SMALL_BUTTON + Space.XS)
        self.refresh()

    def refresh(self) -> None:
        if self.is_column_shown:
            self.read()
        self._line.say(self.tr("Thinking…") if self.row.entry_as(TextEntry).is_open else self.tr("Thought"))

    def set_width(self, width: int) -> None:
        line_width = self._line.fontMetrics().horizontalAdvance(self.tr("Thinking…")) + 3 * Space.L
        self._line.setGeometry(0, 0, min(width, line_width), Height.SMALL_BUTTON)
        super().set_width(width)

    def entry_height(self) -> int:
        return super().entry_height() if self.is_column_shown else Height.SMALL_BUTTON

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        self._line.paint_rule(painter)


_INDENT = 14
_RULE = 2


class CommandWidget(MarkdownWidget):
    def __init__(self, place: EntryPlace, loader: CardLoader | None) -> None:
        is_error = place.row.entry_as(CommandRun).is_error
        super().__init__(place, loader, ink="danger_text" if is_error else "text")
        self._line: TextPassage | None = None
        self.refresh()

    def refresh(self) -> None:
        self.read()
        entry = self.row.entry_as(CommandRun)
        said = self.tr("Command {text} failed: {output}") if entry.is_error else self.tr("Command {text}: {output}")
        self.setAccessibleName(said.format(text=entry.text, output=answer_words(entry.output)[:SPOKEN_CHARS]))

    def set_width(self, width: int) -> None:
        inner = width - _INDENT
        text = RichText(self.row.entry_as(CommandRun).text)
        self._line = TextPassage(text, self.styles.code, (), width=inner, line_height=CODE_LINE, is_code=True)
        self.column_origin = QPoint(_INDENT, self._line.height + Space.XS)
        super().set_width(width)

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        role = "danger_text" if self.row.entry_as(CommandRun).is_error else "border_strong"
        painter.fillRect(QRect(0, 2, _RULE, self.height() - 4), self.styles.colour(role))
        if self._line is not None:
            painter.setPen(self.styles.colour("muted"))
            self._line.draw(painter, at=QPoint(_INDENT, 0))
