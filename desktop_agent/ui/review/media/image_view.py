"""Two versions of a picture with what is said of them, and the ways to compare them."""

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QButtonGroup, QPushButton, QSizePolicy, QSlider, QWidget

from desktop_agent.ui.review.media.picture_canvas import SWIPE_STEP, CompareMode, PictureCanvas
from desktop_agent.ui.review.media.picture_decoding import DecodedPicture, picture_words
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, vbox
from desktop_agent.ui.wording.tooltips import plain_tooltip

_SLIDER_STEPS = 1_000


class ImageView(QWidget):
    """Shows the old and the new version of a picture; only one of them when there is only one."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.canvas = PictureCanvas(theme)
        """What the pictures are painted on."""
        self.canvas.setObjectName("pictureCanvas")
        self.canvas.setAccessibleName(self.tr("Picture before and after"))
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
        self._fit = make_button(
            self.tr("Fit"), object_name="pictureFitButton", clicked=self.canvas.fit, is_compact=True
        )
        self._fit.setToolTip(self.tr("Show all of it (0)"))
        self._actual = make_button(
            self.tr("100 %"), object_name="pictureActualButton", clicked=self._on_actual, is_compact=True
        )
        self._actual.setToolTip(self.tr("Show it in its own size (1)"))
        self._scale = make_label(role="secondary")
        self._tools = QWidget()
        self._lay_out()
        self.canvas.scale_changed.connect(self._show_scale)
        self.canvas.split_moved.connect(self._show_split)
        self._slider.valueChanged.connect(self._on_slid)
        self._group.buttonClicked.connect(self._on_mode_clicked)

    def show_versions(self, before: DecodedPicture, after: DecodedPicture) -> None:
        """Show these two; one that is absent is left out."""
        is_both = "absent" not in (before.problem, after.problem)
        is_comparable = before.is_shown and after.is_shown
        for mode, button in self._modes.items():
            button.setVisible(is_comparable)
            button.setChecked(mode == self.canvas.scroller.mode)
        if not is_comparable and self.canvas.scroller.mode != "two_up":
            self.set_mode("two_up")
        self._show_caption(self._before, self.tr("Before"), before)
        self._show_caption(self._after, self.tr("After") if is_both else self.tr("New"), after)
        if after.problem == "absent":
            self._show_caption(self._before, self.tr("Deleted"), before)
        self.canvas.show_pictures(*(each for each in (before, after) if each.problem != "absent"))
        self._show_split()

    def set_mode(self, mode: CompareMode) -> None:
        """Compare them in this way."""
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
            button = make_button(text, object_name=name, is_compact=True)
            button.setCheckable(True)
            self._modes[mode] = button
            self._group.addButton(button)
        self._fit.setCheckable(True)
        self._actual.setCheckable(True)
        margins = (Space.M, Space.XS + 2, Space.M, Space.XS + 2)
        captions = hbox((self._before, 1), (self._after, 1), margins=margins, spacing=Space.M)
        hbox(
            *self._modes.values(),
            Space.S,
            (self._slider, 1),
            STRETCH,
            self._scale,
            self._fit,
            self._actual,
            on=self._tools,
            margins=margins,
            spacing=Space.XS,
        )
        vbox(captions, hairline(), (self.canvas, 1), hairline(), self._tools, on=self)
        self.set_mode("two_up")
        self.setFocusProxy(self.canvas)

    def _show_scale(self) -> None:
        self._scale.setText(f"{self.canvas.scroller.scale:.0%}".replace("%", " %"))
        self._fit.setChecked(self.canvas.scroller.is_fitted)
        self._actual.setChecked(not self.canvas.scroller.is_fitted and self.canvas.scroller.scale == 1.0)

    def _show_split(self) -> None:
        with QSignalBlocker(self._slider):
            self._slider.setValue(round(self.canvas.split * _SLIDER_STEPS))

    def _on_slid(self, value: int) -> None:
        self.canvas.set_split(value / _SLIDER_STEPS)

    def _on_mode_clicked(self) -> None:
        self.set_mode(next(mode for mode, button in self._modes.items() if button.isChecked()))

    def _on_actual(self) -> None:
        self.canvas.set_scale(1.0)


def _caption() -> ElidedLabel:
    caption = ElidedLabel(Qt.TextElideMode.ElideRight)
    caption.setProperty("role", "secondary")
    caption.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    return caption
