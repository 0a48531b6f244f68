"""A scene of the tour: one start of the window, and its states."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.tour.tourist import Tourist
from tests.servers.script import Answer


@dataclass(frozen=True, kw_only=True)
class Scene:
    states: tuple[str, ...]
    play: Callable[[Tourist], Awaitable[None]]
    is_demo: bool = False
    opens_folder: bool = True
    """Otherwise the window opens as at its first start, without a key."""
    opens_questions: bool = False
    answers: tuple[Answer, ...] = ()
    prepare: Callable[[Path], None] = lambda _: None
    """Prepares the folder before the window opens."""
    settings: str = ""
    scale: int = 1
    needs_script: str = ""
