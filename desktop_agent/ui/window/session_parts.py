"""What connects the panels with the session that is shown, made when the first one is."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import Rule
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.bridge import SessionBridge
from desktop_agent.ui.window.prompt_wiring import PromptWiring
from desktop_agent.ui.window.review_wiring import ReviewWiring
from desktop_agent.ui.window.session_controls import SessionControls
from desktop_agent.ui.window.session_panels import SessionPanels
from desktop_agent.ui.window.session_status import SessionStatus
from desktop_agent.ui.window.undo_wiring import UndoWiring


class SessionParts(Struct, frozen=True):
    """Each is about the session that was last given to `show`."""

    prompts: PromptWiring
    undo: UndoWiring
    review: ReviewWiring
    controls: SessionControls
    status: SessionStatus

    @classmethod
    def build(
        cls,
        bridge: SessionBridge,
        window: QWidget,
        theme: Theme,
        panels: SessionPanels,
        actions: Actions,
        *,
        give_back: Callable[[Sequence[str]], None],
        on_retry: Callable[[], None],
        on_rules_changed: Callable[[tuple[Rule, ...]], None],
        open_review: Callable[[], None],
    ) -> "SessionParts":
        """Make and connect them; `window` owns them."""
        return cls(
            PromptWiring(bridge, panels, actions, window, give_back=give_back, on_retry=on_retry),
            UndoWiring(bridge, window, theme, panels, actions),
            ReviewWiring(bridge, panels, actions, window, open_review),
            SessionControls(bridge, panels, window),
            SessionStatus(bridge, panels, actions, on_rules_changed),
        )

    def show(self, bridge: SessionBridge) -> None:
        """Be about this session from now on."""
        for part in (self.prompts, self.undo, self.review, self.controls, self.status):
            part.show(bridge)
