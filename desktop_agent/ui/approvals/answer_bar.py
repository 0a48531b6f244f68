"""The two answers at the foot of the dialog, and between them what stands in the way of a yes."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox
from desktop_agent.ui.widgets.shortcut_button import ShortcutButton
from desktop_agent.ui.wording.place_keys import ALLOW_KEYS, DENY_KEYS, native_keys
from desktop_agent.ui.wording.tooltips import plain_tooltip

_MAX_ALLOW_WIDTH = 320
_PATTERN_STEP = 20


class AnswerBar(QWidget):
    """Says on the button what a yes means, as far as there is room, and why it cannot be given now."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.allow = ShortcutButton(theme, self.tr("Allow"), native_keys(ALLOW_KEYS), colour_role="on_accent")
        self.allow.setObjectName("approveButton")
        self.allow.setAccessibleName(self.tr("Allow"))
        self.allow.setProperty("variant", "primary")
        self.deny = ShortcutButton(theme, self.tr("Deny"), native_keys(DENY_KEYS), colour_role="muted")
        self.deny.setObjectName("denyButton")
        self.deny.setAccessibleName(self.tr("Deny"))
        self.deny.setProperty("variant", "destructive")
        self._quiet = make_label(role="secondary", object_name="approvalQuietLine", wraps=True)
        self.setAutoFillBackground(True)
        margins = (Space.XL, Space.M, Space.XL, Space.M)
        hbox(self.allow, (self._quiet, 1), self.deny, on=self, spacing=Space.M, margins=margins)

    def show_yes(self, patterns: Sequence[str], words: Callable[[Sequence[str]], str]) -> None:
        """Say what a yes means: `words` of the patterns. These give way, the words around them do not."""
        whole = shown = words(patterns)
        metrics = self.allow.fontMetrics()
        for width in range(_MAX_ALLOW_WIDTH, 0, -_PATTERN_STEP):
            if metrics.horizontalAdvance(shown) <= _MAX_ALLOW_WIDTH:
                break
            shown = words([metrics.elidedText(pattern, Qt.TextElideMode.ElideMiddle, width) for pattern in patterns])
        self.allow.setText(shown)
        self.allow.setAccessibleName(whole)
        self.allow.setToolTip(plain_tooltip(whole) if shown != whole else "")

    def show_obstacle(self, obstacle: str, *, is_refusal: bool) -> None:
        """Say why there can be no yes now, if so; a refusal of the session stands between the answers, too."""
        self.allow.setEnabled(not obstacle)
        # Without one Qt describes it by its tool tip, which is markup where the words are cut.
        self.allow.setAccessibleDescription(obstacle or (self.allow.accessibleName() if self.allow.toolTip() else ""))
        if obstacle:
            self.allow.setToolTip(plain_tooltip(obstacle) if is_refusal else obstacle)
        quiet = self.tr("Closing this decides nothing. The question stays in the conversation.")
        self._quiet.setText(obstacle if is_refusal else quiet)
