"""A picture of the workspace: fitted, or in its own size, with what there is to say of it."""

from PySide6.QtWidgets import QWidget

from desktop_agent.ui.review.media.picture_canvas import PictureCanvas
from desktop_agent.ui.review.media.picture_decoding import DecodedPicture, picture_words
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hairline, hbox, vbox


class PicturePage(QWidget):
    """Shows one picture."""

    def __init__(self, theme: Theme, picture: DecodedPicture) -> None:
        super().__init__()
        words = picture_words(picture)
        self._canvas = PictureCanvas(theme)
        self._canvas.setObjectName("viewerPicture")
        self._canvas.setAccessibleName(self.tr("Picture, {0}").format(words))
        self._scale = make_label(role="secondary")
        self._fit = make_button(self.tr("Fit"), clicked=self._canvas.fit, is_compact=True)
        self._fit.setToolTip(self.tr("Show all of it (0)"))
        self._actual = make_button(self.tr("100 %"), clicked=self._on_actual, is_compact=True)
        self._actual.setToolTip(self.tr("Show it in its own size (1)"))
        self._fit.setCheckable(True)
        self._actual.setCheckable(True)
        foot = hbox(
            (make_label(words, role="secondary", object_name="viewerFacts"), 1),
            self._scale,
            self._fit,
            self._actual,
            margins=(Space.M, Space.XS, Space.M, Space.XS),
            spacing=Space.S,
        )
        vbox((self._canvas, 1), hairline(), foot, on=self)
        self.setFocusProxy(self._canvas)
        self._canvas.scale_changed.connect(self._show_scale)
        self._canvas.show_pictures(picture)
        self._show_scale()

    def _on_actual(self) -> None:
        self._canvas.set_scale(1.0)

    def _show_scale(self) -> None:
        scroller = self._canvas.scroller
        self._scale.setText(f"{scroller.scale:.0%}".replace("%", " %"))
        self._fit.setChecked(scroller.is_fitted)
        self._actual.setChecked(not scroller.is_fitted and scroller.scale == 1.0)
