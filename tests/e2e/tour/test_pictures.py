"""The pictures in `docs/images` show the present window.

Each run checks one scene. After an intended change, `packaging/screenshots.sh` takes new pictures.
"""

from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from tests.e2e.tour.likeness import differences
from tests.e2e.tour.playing import play_apart
from tests.e2e.tour.scenes.every import SCENES, states
from tests.e2e.tour.tourist import THEMES

ALBUM = Path(__file__).parents[3] / "docs" / "images"
INSTEAD = Path(__file__).parents[3] / ".pictures"
"""The folder for differing pictures. Git ignores it."""
ANIMATIONS = {"undo"}
MOST_BYTES = 6_500_000
FEWEST_STATES = 40
UNSTEADY = {"jobs"}
"""States with figures of the machine: the memory of a command."""


def test_every_state_has_its_pictures_and_there_are_no_others() -> None:
    names = states()
    assert len(set(names)) == len(names) >= FEWEST_STATES
    wanted = {f"{state}-{theme}" for state in names for theme in THEMES} | ANIMATIONS
    assert {path.stem for path in ALBUM.iterdir()} == wanted


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in ALBUM.iterdir()) < MOST_BYTES


@pytest.mark.parametrize(
    "scene", [pytest.param(name, marks=[] if name == "welcome" else pytest.mark.nightly) for name in SCENES]
)
def test_the_window_looks_like_its_pictures(scene: str, tmp_path: Path) -> None:
    if not play_apart(scene, tmp_path):
        pytest.skip("this machine has no sandbox, or no typeface for the scene: the pictures show both")
    wrong = {name: found for name in _pictures(scene) if (found := _differences(name, tmp_path))}
    assert wrong == {}, f"what is seen instead is in {INSTEAD}"


def _pictures(scene: str) -> list[str]:
    return [f"{state}-{theme}.png" for state in SCENES[scene].states if state not in UNSTEADY for theme in THEMES]


def _differences(name: str, album: Path) -> list[str]:
    found = differences(QImage(str(ALBUM / name)), QImage(str(album / name)))
    if found:
        INSTEAD.mkdir(exist_ok=True)
        (INSTEAD / name).write_bytes((album / name).read_bytes())
    return found
