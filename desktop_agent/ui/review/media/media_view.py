"""Views of changes that are not lines of text: pictures, the cells of a notebook, facts about bytes.

If the file is also text, the user can switch between the two.
"""

import asyncio
from functools import cached_property
from typing import Literal

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QPushButton, QSizePolicy, QSlider, QStackedLayout, QStackedWidget, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.file_types import HEAD_BYTES, FileType, file_type, is_binary
from desktop_agent.core.diff.notebook import notebook_diff
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.media.binary_view import BinaryFacts, BinaryView, binary_facts
from desktop_agent.ui.review.media.picture_canvas import SWIPE_STEP, CompareMode, PictureCanvas, ScaleButtons
from desktop_agent.ui.review.media.picture_decoding import DecodedPicture, decode, picture_words
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import ElidedLabel
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, set_names, vbox
from desktop_agent.ui.wording.visible_text import plain_tooltip

_SLIDER_STEPS = 1_000


class ImageView(QWidget):
    """Shows the old and the new version of a picture, or the only one."""

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
        self._lay_out()
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
        names = {"swipe": self.tr("Where the swipe is"), "onion": self.tr("How much of the old version is seen")}
        self._slider.setAccessibleName(names.get(mode, ""))

    def _show_caption(self, caption: ElidedLabel, version: str, picture: DecodedPicture) -> None:
        words = picture_words(picture)
        caption.setText(f"{version}  {words}" if words else version)
        caption.setToolTip(plain_tooltip(caption.text()))
        caption.setVisible(picture.problem != "absent")

    def _lay_out(self) -> None:
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


MediaKind = Literal["image", "notebook", "binary"]

_TEXT_SUFFIXES = (".svg", ".ipynb")
"""Files whose text can also be shown in another form."""


def media_kind(path: str, before_head: bytes | None, after_head: bytes | None) -> MediaKind | None:
    """Return how to show a change, judging by the heads of its two versions; `None` means as lines of text.

    A head has `file_types.HEAD_BYTES` bytes, or the whole content if that is shorter; `None` means that the version is
    absent.
    """
    heads = [head for head in (before_head, after_head) if head is not None]
    types = [file_type(head) for head in heads]
    if any(_is_drawn(path, found) for found in types):
        return "image"
    if any(is_binary(head) for head in heads):
        return "binary"
    return "notebook" if path.lower().endswith(".ipynb") else None


def may_be_media(diff: FileDiff) -> bool:
    return (diff.is_binary or diff.path.lower().endswith(_TEXT_SUFFIXES)) and "symbolic link" not in " ".join(
        diff.notes
    )


def _is_drawn(path: str, found: FileType) -> bool:
    """Whether it is shown as a picture. A web page can begin with an SVG, so SVG also needs the suffix."""
    return found.picture is not None and (found.picture != "svg" or path.lower().endswith(".svg"))


async def _best_form(
    diff: FileDiff, before: bytes | None, after: bytes | None
) -> tuple[DecodedPicture, DecodedPicture] | FileDiff | BinaryFacts | None:
    """Return the two pictures, the cells of a notebook or the facts to show; None if text is best."""
    kind = media_kind(diff.path, *(None if content is None else content[:HEAD_BYTES] for content in (before, after)))
    if kind == "image":
        old = await asyncio.to_thread(decode, before)
        new = await asyncio.to_thread(decode, after)
        if old.is_shown or new.is_shown:
            return old, new
        # Nothing of it can be drawn; of a drawing, its text says more than its bytes.
        kind = "binary" if diff.is_binary else None
    if kind == "notebook":
        return await asyncio.to_thread(notebook_diff, diff, before, after)
    return await asyncio.to_thread(binary_facts, before, after) if kind == "binary" else None


class MediaStack(QWidget):
    """Holds the text view of a diff, and shows a picture, a notebook or facts in its place where possible.

    For an SVG or a notebook, the user can switch between the two; the choice also applies to the next file.
    """

    switched = Signal()  # between text and what is shown in place of it

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        """Pass the text view to `hold`. It should already be a child of this widget: Qt polishes a reparented widget
        again.
        """
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
        if text_view.parentWidget() is not self:  # Qt would polish all that is in it again
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
        """Show this change (`None`: absent) in its best form. Does nothing if another one is requested meanwhile."""
        self._request += 1
        request = self._request
        found = await _best_form(diff, before, after)
        if not isValid(self) or request != self._request:
            return
        kind: MediaKind | None = None
        match found:
            case FileDiff():
                kind, view = "notebook", self.notebook_view
                view.show_diff(found)
                self._media.setCurrentWidget(view)
            case BinaryFacts():
                kind, view = "binary", self.binary_view
                view.show_facts(found)
                self._media.setCurrentWidget(view)
            case old, new:
                kind, view = "image", self.image_view
                view.show_versions(old, new)
                self._media.setCurrentWidget(view)
            case None:
                pass
        self._show(kind, has_text=not diff.is_binary)

    def _show(self, kind: MediaKind | None, *, has_text: bool) -> None:
        was_text = self.is_text_shown
        self.kind = kind
        self._bar.setVisible(kind is not None and has_text)
        is_text = kind is None or (has_text and self._is_text_wanted)
        if kind == "notebook":
            self._as_media.setText(self.tr("Notebook"))
            self._as_text.setText(self.tr("Raw JSON"))
        else:
            self._as_media.setText(self.tr("Picture"))
            self._as_text.setText(self.tr("Text"))
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
