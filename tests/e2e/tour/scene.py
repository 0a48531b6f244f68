"""A scene of the tour: one start of the window, and its states."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.tour.tourist import Tourist
from tests.servers.script import Answer


@dataclass(frozen=True, kw_only=True)
class Scene:
    states: tuple[str, ...]
    """The names of its pictures, in their order."""
    play: Callable[[Tourist], Awaitable[None]]
    is_demo: bool = False
    opens_folder: bool = True
    """Else the window opens as at its first start: there is no key either."""
    opens_questions: bool = False
    """Whether each question opens its dialog."""
    answers: tuple[Answer, ...] = ()
    """What the model says."""
    prepare: Callable[[Path], None] = lambda _: None
    """Does what has to be there before the window opens, in the folder."""
    settings: str = ""
    """TOML, for the settings file."""
    scale: int = 1
    needs_script: str = ""
    """A letter that the system's typefaces must have, as ours have not: elsewhere the scene is left out."""
