"""The text of a change and, where there is more to it than text, the picture or notebook that it is."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QStackedLayout, QWidget
from shiboken6 import isValid

from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.media.kinds import MediaKind
from desktop_agent.ui.review.media.view import MediaView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, vbox


class MediaStack(QWidget):
    """Holds the text view of a diff and shows something better in its place where it can.

    A drawing or a notebook is both; the user switches between the two, and the choice holds for the next file.

    Signals:
        switched: text is shown in place of the picture or notebook, or the other way round.
    """

    switched = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        """Hold nothing until `hold` is called; the text view that is given then had better be its child already."""
        super().__init__(parent)
        self._theme = theme
        self._text_view: QWidget | None = None
        self._media: MediaView | None = None
        self.kind: MediaKind | None = None
        """What the change can be shown as, beside its text."""
        self._is_text_wanted = False
        self._request = 0
        self._bar = QWidget()
        self._as_media = make_button(object_name="showMediaButton", is_compact=True)
        self._as_text = make_button(object_name="showTextButton", is_compact=True)
        self._group = QButtonGroup(self)
        for button in (self._as_media, self._as_text):
            button.setCheckable(True)
            self._group.addButton(button)
        margins = (Space.M, Space.XS + 2, Space.M, Space.XS + 2)
        ways = hbox(self._as_media, self._as_text, STRETCH, margins=margins, spacing=Space.XS)
        vbox(ways, hairline(), on=self._bar)
        self._pages = QStackedLayout()
        vbox(self._bar, (self._pages, 1), on=self)
        self._group.buttonClicked.connect(self._on_clicked)
        self._bar.hide()

    def hold(self, text_view: QWidget) -> None:
        """Show this view for text."""
        self._text_view = text_view
        if text_view.parentWidget() is not self:  # Qt would polish all that is in it again
            text_view.setParent(self)
        self._pages.addWidget(text_view)

    @property
    def is_text_shown(self) -> bool:
        """Whether the text view is what is seen."""
        return self._pages.currentWidget() is self._text_view

    @property
    def media(self) -> MediaView:
        """What is shown in place of text. Made when first needed."""
        if self._media is None:
            self._media = MediaView(self._theme)
            self._pages.addWidget(self._media)
        return self._media

    def show_text(self) -> None:
        """Show the text view: there is nothing else to this change, or it is not known yet."""
        self._request += 1
        if self._media is not None:
            self._media.forget()
        self._show(None, has_text=True)

    async def show_change(self, diff: FileDiff, before: bytes | None, after: bytes | None) -> None:
        """Show this change (`None`: absent) as what it is. Does nothing when another one is asked for meanwhile."""
        self._request += 1
        request = self._request
        kind = await self.media.show_change(diff, before, after)
        if isValid(self) and request == self._request:
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
            self._pages.setCurrentWidget(self.media)
        if is_text != was_text:
            self.switched.emit()

    def _on_clicked(self) -> None:
        self._is_text_wanted = self._as_text.isChecked()
        self._show(self.kind, has_text=True)
