"""Views of changes that are not lines of text: pictures, notebook cells, facts about bytes.

If the file is also text, the user can switch between the views.
"""

import asyncio
from functools import cached_property
from typing import Literal

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QGridLayout,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QSlider,
    QStackedLayout,
    QStackedWidget,
    QTextEdit,
    QWidget,
)
from shiboken6 import isValid

from desktop_agent.core.base.file_types import HEAD_BYTES, file_type, is_binary
from desktop_agent.core.diff.diff import HexExcerpt, excerpt, printable
from desktop_agent.core.diff.notebook import notebook_diff
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, set_names, vbox
from desktop_agent.ui.widgets.picture_canvas import SWIPE_STEP, CompareMode, PictureCanvas, ScaleButtons
from desktop_agent.ui.widgets.picture_decoding import (
    DecodedPicture,
    decode,
    exact_size_words,
    is_drawn,
    picture_words,
    short_hash,
)
from desktop_agent.ui.widgets.text_colours import mark_of
from desktop_agent.ui.wording import plain_tooltip

_SLIDER_STEPS = 1_000


class ImageView(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.canvas = PictureCanvas(theme)
        set_names(self.canvas, "pictureCanvas", self.tr("Picture before and after"))
        self._before, self._after = _caption(), _caption()
        self._modes: dict[CompareMode, QPushButton] = {}
        self._group = QButtonGroup(self)
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setObjectName("swipeSlider")
        self._slider.setRange(0, _SLIDER_STEPS)
        self._slider.setSingleStep(round(SWIPE_STEP * _SLIDER_STEPS))
        self._slider.setPageStep(_SLIDER_STEPS // 10)
        self._slider.setMinimumWidth(80)
        self._slider.setMaximumWidth(240)
        self._scale = ScaleButtons(self.canvas)
        self._tools = QWidget()
        names: tuple[tuple[CompareMode, str, str], ...] = (
            ("two_up", self.tr("Side by side"), "twoUpButton"),
            ("swipe", self.tr("Swipe"), "swipeButton"),
            ("onion", self.tr("Blend"), "onionButton"),
            ("difference", self.tr("Difference"), "differenceButton"),
        )
        for mode, text, name in names:
            button = compact_button(text, name, is_checkable=True)
            self._modes[mode] = button
            self._group.addButton(button)
        margins = (Space.M, Space.XS + 2, Space.M, Space.XS + 2)
        captions = hbox((self._before, 1), (self._after, 1), margins=margins, spacing=Space.M)
        slider = (Space.S, (self._slider, 1), STRETCH)
        modes, scale = self._modes.values(), self._scale.parts
        hbox(*modes, *slider, *scale, on=self._tools, margins=margins, spacing=Space.XS)
        vbox(captions, hairline(), (self.canvas, 1), hairline(), self._tools, on=self)
        self.set_mode("two_up")
        self.setFocusProxy(self.canvas)
        self.canvas.split_moved.connect(self._show_split)
        self._slider.valueChanged.connect(self._on_slid)
        self._group.buttonClicked.connect(self._on_mode_clicked)

    def show_versions(self, before: DecodedPicture, after: DecodedPicture) -> None:
        is_both = "absent" not in (before.problem, after.problem)
        is_comparable = before.is_shown and after.is_shown
        for mode, button in self._modes.items():
            button.setVisible(is_comparable)
            button.setChecked(mode == self.canvas.mode)
        if not is_comparable and self.canvas.mode != "two_up":
            self.set_mode("two_up")
        self._show_caption(self._before, self.tr("Before"), before)
        self._show_caption(self._after, self.tr("After") if is_both else self.tr("New"), after)
        if after.problem == "absent":
            self._show_caption(self._before, self.tr("Deleted"), before)
        self.canvas.show_pictures(*(each for each in (before, after) if each.problem != "absent"))
        self._show_split()

    def set_mode(self, mode: CompareMode) -> None:
        self._modes[mode].setChecked(True)
        self.canvas.set_mode(mode)
        is_apart = mode == "two_up"
        self._after.setAlignment(Qt.AlignmentFlag.AlignLeft if is_apart else Qt.AlignmentFlag.AlignRight)
        self._slider.setVisible(mode in ("swipe", "onion"))
        names = {"swipe": self.tr("Position of the divider"), "onion": self.tr("Opacity of the old version")}
        self._slider.setAccessibleName(names.get(mode, ""))

    def _show_caption(self, caption: ElidedLabel, version: str, picture: DecodedPicture) -> None:
        words = picture_words(picture)
        caption.setText(f"{version}  {words}" if words else version)
        caption.setToolTip(plain_tooltip(caption.text()))
        caption.setVisible(picture.problem != "absent")

    def _show_split(self) -> None:
        with QSignalBlocker(self._slider):
            self._slider.setValue(round(self.canvas.split * _SLIDER_STEPS))

    def _on_slid(self, value: int) -> None:
        self.canvas.set_split(value / _SLIDER_STEPS)

    def _on_mode_clicked(self) -> None:
        self.set_mode(next(mode for mode, button in self._modes.items() if button.isChecked()))


def _caption() -> ElidedLabel:
    caption = ElidedLabel(role="secondary")
    caption.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    return caption


class VersionFacts(Struct, frozen=True):
    type_name: str
    size_bytes: int
    hash: str


class BinaryFacts(Struct, frozen=True):
    """Facts about two versions (`None` for an absent version), and the bytes around their first difference."""

    before: VersionFacts | None
    after: VersionFacts | None
    excerpt: HexExcerpt
    is_same: bool


def binary_facts(before: bytes | None, after: bytes | None) -> BinaryFacts:
    shown = excerpt(before, after)
    is_same = before is not None and after is not None and shown.difference is None
    return BinaryFacts(version_facts(before), version_facts(after), shown, is_same)


def version_facts(content: bytes | None) -> VersionFacts | None:
    if content is None:
        return None
    return VersionFacts(file_type(content[:HEAD_BYTES]).name, len(content), short_hash(content))


def version_words(version: VersionFacts | None) -> tuple[str, str, str]:
    if version is None:
        return QCoreApplication.translate("Media", "There is no file"), "", ""
    return core_words(version.type_name), exact_size_words(version.size_bytes), version.hash


_OFFSET_CHARS = 10
_GAP = "  "
_PADDING_PX = 40


class HexText(QPlainTextEdit):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._excerpt = HexExcerpt(0, b"", b"")
        self._row_bytes = 0
        self._has_text: bool = True
        self.setReadOnly(True)
        self.setProperty("variant", "bare")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.document().setDocumentMargin(12)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def show_excerpt(self, shown: HexExcerpt) -> None:
        self._excerpt = shown
        self._row_bytes = 0
        self._fill()

    def _sides(self) -> list[bytes]:
        return [side for side in (self._excerpt.before, self._excerpt.after) if side]

    def _fill(self) -> None:
        chars = (self.viewport().width() - _PADDING_PX) // max(1, self.fontMetrics().horizontalAdvance("0"))
        count = max(1, len(self._sides()))
        shapes = ((16, True), (8, True), (16, False), (8, False))
        widths = ((shape, _OFFSET_CHARS + count * _side_chars(shape[0], has_text=shape[1])) for shape in shapes)
        fitting = next((shape for shape, width in widths if width <= chars), shapes[-1])
        if fitting == (self._row_bytes, self._has_text):
            return
        self._row_bytes, self._has_text = fitting
        sides = self._sides()
        rows = range(0, max(map(len, sides), default=0), self._row_bytes)
        self.setPlainText("\n".join(self._row(sides, at) for at in rows))
        marks: list[QTextEdit.ExtraSelection] = []
        if len(sides) == 2:
            for number, role in ((0, "removed_word"), (1, "added_word")):
                side, other = sides[number], sides[1 - number]
                different = [at for at in range(len(side)) if side[at : at + 1] != other[at : at + 1]]
                for first, last in _runs(different, self._row_bytes):
                    marks += self._selections(number, first, last, self._theme.colour(role))
        self.setExtraSelections(marks)

    def _row(self, sides: list[bytes], at: int) -> str:
        text = f"{self._excerpt.start + at:08x}  "
        for side in sides:
            data = side[at : at + self._row_bytes]
            text += data.hex(" ").ljust(3 * self._row_bytes - 1) + _GAP
            if self._has_text:
                text += printable(data).ljust(self._row_bytes) + _GAP
        return text.rstrip()

    def _selections(self, number: int, first: int, last: int, colour: QColor) -> list[QTextEdit.ExtraSelection]:
        row, column = divmod(first, self._row_bytes)
        count = last - first + 1
        left = _OFFSET_CHARS + number * _side_chars(self._row_bytes, has_text=self._has_text)
        found = [self._selection(row, left + 3 * column, 3 * count - 1, colour)]
        if self._has_text:
            text_left = left + 3 * self._row_bytes - 1 + len(_GAP)
            found.append(self._selection(row, text_left + column, count, colour))
        return found

    def _selection(self, row: int, start: int, length: int, colour: QColor) -> QTextEdit.ExtraSelection:
        cursor = QTextCursor(self.document().findBlockByNumber(row))
        cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.MoveAnchor, start)
        cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.KeepAnchor, length)
        look = QTextCharFormat()
        look.setBackground(colour)
        return mark_of(cursor, look)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fill()

    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.code_font(TypeSize.DIFF))
        self._row_bytes = 0
        self._fill()


def _side_chars(row_bytes: int, *, has_text: bool) -> int:
    return 3 * row_bytes - 1 + len(_GAP) + (row_bytes + len(_GAP) if has_text else 0)


def _runs(offsets: list[int], row_bytes: int) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for at in offsets:
        if runs and runs[-1][1] == at - 1 and at % row_bytes:
            runs[-1] = (runs[-1][0], at)
        else:
            runs.append((at, at))
    return runs


class BinaryView(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setProperty("role", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        grid = QGridLayout()
        grid.setContentsMargins(Space.M, Space.M, Space.M, Space.M)
        grid.setHorizontalSpacing(Space.L)
        grid.setVerticalSpacing(Space.XS)
        for place, head in enumerate(("", self.tr("Before"), self.tr("After"))):
            grid.addWidget(make_label(head, role="heading"), 0, place)
            grid.setColumnStretch(place, 1 if head else 0)
        names = (self.tr("Type"), self.tr("Size"), self.tr("BLAKE2"))
        self._values = [[make_label(wraps=True, is_plain=True, is_selectable=True) for _ in range(2)] for _ in names]
        for row, (name, values) in enumerate(zip(names, self._values, strict=True), 1):
            grid.addWidget(make_label(name, role="heading"), row, 0)
            for place, value in enumerate(values, 1):
                grid.addWidget(value, row, place)
        self._where = make_label(role="heading")
        self._where.setContentsMargins(Space.M, Space.S, Space.M, 0)
        self._bytes = HexText(theme)
        set_names(self._bytes, "hexText", self.tr("Bytes before and after"))
        vbox(grid, hairline(), self._where, (self._bytes, 1), on=self)
        self.setFocusProxy(self._bytes)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def show_facts(self, facts: BinaryFacts) -> None:
        for place, version in enumerate((facts.before, facts.after)):
            for row, text in enumerate(version_words(version)):
                self._values[row][place].setText(text)
        self._where.setText(self._where_words(facts))
        self._bytes.show_excerpt(facts.excerpt)
        self._bytes.setVisible(bool(facts.excerpt.before or facts.excerpt.after))

    def _where_words(self, facts: BinaryFacts) -> str:
        shown = facts.excerpt
        if facts.is_same:
            return self.tr("Identical. First bytes")
        if facts.before is None or facts.after is None:
            return self.tr("First bytes") if shown.before or shown.after else self.tr("It is empty")
        return self.tr("First difference at byte {0}").format(shown.difference)

    def _on_theme_changed(self) -> None:
        for digest in self._values[-1]:
            digest.setFont(self._theme.code_font(TypeSize.CODE))


MediaKind = Literal["image", "notebook", "binary"]

_TEXT_SUFFIXES = (".svg", ".ipynb")


def media_kind(path: str, before_head: bytes | None, after_head: bytes | None) -> MediaKind | None:
    """Judge by the first `file_types.HEAD_BYTES` of each version (`None`: absent). Return `None` for lines of text."""
    heads = [head for head in (before_head, after_head) if head is not None]
    types = [file_type(head) for head in heads]
    if any(is_drawn(path, found) for found in types):
        return "image"
    if any(is_binary(head) for head in heads):
        return "binary"
    return "notebook" if path.lower().endswith(".ipynb") else None


def may_be_media(diff: FileDiff) -> bool:
    return (diff.is_binary or diff.path.lower().endswith(_TEXT_SUFFIXES)) and "symbolic link" not in " ".join(
        diff.notes
    )


async def _best_form(
    diff: FileDiff, before: bytes | None, after: bytes | None
) -> tuple[DecodedPicture, DecodedPicture] | FileDiff | BinaryFacts | None:
    """Return `None` if text is best."""
    kind = media_kind(diff.path, *(None if content is None else content[:HEAD_BYTES] for content in (before, after)))
    if kind == "image":
        old = await asyncio.to_thread(decode, before)
        new = await asyncio.to_thread(decode, after)
        if old.is_shown or new.is_shown:
            return old, new
        # No picture can be drawn. For an SVG, its text says more than its bytes.
        kind = "binary" if diff.is_binary else None
    if kind == "notebook":
        return await asyncio.to_thread(notebook_diff, diff, before, after)
    return await asyncio.to_thread(binary_facts, before, after) if kind == "binary" else None


class MediaStack(QWidget):
    """Shows a diff in its best form. The user's choice between text and another form also applies to the next file."""

    switched = Signal()  # between the text and the other view

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        """Pass the text view to `hold`. Create it as a child of this widget, because reparenting restyles it."""
        super().__init__(parent)
        self._theme = theme
        self._text_view: QWidget | None = None
        self.kind: MediaKind | None = None
        self._is_text_wanted = False
        self._request = 0
        self._bar = QWidget()
        self._as_media = compact_button(object_name="showMediaButton", is_checkable=True)
        self._as_text = compact_button(object_name="showTextButton", is_checkable=True)
        self._group = QButtonGroup(self)
        for button in (self._as_media, self._as_text):
            self._group.addButton(button)
        margins = (Space.M, Space.XS + 2, Space.M, Space.XS + 2)
        ways = hbox(self._as_media, self._as_text, STRETCH, margins=margins, spacing=Space.XS)
        vbox(ways, hairline(), on=self._bar)
        self._pages = QStackedLayout()
        vbox(self._bar, (self._pages, 1), on=self)
        self._group.buttonClicked.connect(self._on_clicked)
        self._bar.hide()

    def hold(self, text_view: QWidget) -> None:
        self._text_view = text_view
        if text_view.parentWidget() is not self:  # reparenting would restyle all of its children
            text_view.setParent(self)
        self._pages.addWidget(text_view)

    @property
    def is_text_shown(self) -> bool:
        return self._pages.currentWidget() is self._text_view

    # -- what is shown in place of text, made when it is first needed --

    @cached_property
    def _media(self) -> QStackedWidget:
        media = QStackedWidget()
        media.setObjectName("mediaView")
        self._pages.addWidget(media)
        return media

    @cached_property
    def image_view(self) -> ImageView:
        view = ImageView(self._theme)
        self._media.addWidget(view)
        return view

    @cached_property
    def notebook_view(self) -> DiffView:
        view = DiffView(self._theme)
        view.setObjectName("notebookView")
        self._media.addWidget(view)
        return view

    @cached_property
    def binary_view(self) -> BinaryView:
        view = BinaryView(self._theme)
        self._media.addWidget(view)
        return view

    def show_text(self) -> None:
        self._request += 1
        self._show(None, has_text=True)

    async def show_change(self, diff: FileDiff, before: bytes | None, after: bytes | None) -> None:
        """Show this change in its best form, unless another is requested meanwhile. `None` is an absent version."""
        self._request += 1
        request = self._request
        found = await _best_form(diff, before, after)
        if not isValid(self) or request != self._request:
            return
        match found:
            case FileDiff():
                kind, view = "notebook", self.notebook_view
                view.show_diff(found)
            case BinaryFacts():
                kind, view = "binary", self.binary_view
                view.show_facts(found)
            case old, new:
                kind, view = "image", self.image_view
                view.show_versions(old, new)
            case None:
                kind = view = None
        if view is not None:
            self._media.setCurrentWidget(view)
        self._show(kind, has_text=not diff.is_binary)

    def _show(self, kind: MediaKind | None, *, has_text: bool) -> None:
        was_text = self.is_text_shown
        self.kind = kind
        self._bar.setVisible(kind is not None and has_text)
        is_text = kind is None or (has_text and self._is_text_wanted)
        is_notebook = kind == "notebook"
        self._as_media.setText(self.tr("Notebook") if is_notebook else self.tr("Picture"))
        self._as_text.setText(self.tr("Raw JSON") if is_notebook else self.tr("Text"))
        self._as_text.setChecked(is_text)
        self._as_media.setChecked(not is_text)
        if is_text and self._text_view is not None:
            self._pages.setCurrentWidget(self._text_view)
        elif not is_text:
            self._pages.setCurrentWidget(self._media)
        if is_text != was_text:
            self.switched.emit()

    def _on_clicked(self) -> None:
        self._is_text_wanted = self._as_text.isChecked()
        self._show(self.kind, has_text=True)
