"""The window on Wayland, without an X server: the keyboard and the mouse of a compositor without a monitor."""

from pathlib import Path

import pytest

from tests.assistive import application_read
from tests.e2e.screen import has_wayland, wayland
from tests.e2e.trial import Hand

pytestmark = pytest.mark.skipif(not has_wayland(), reason="sway or grim is not installed")


def test_the_first_turn_of_the_demo_is_typed_allowed_and_undone_by_mouse(tmp_path: Path) -> None:
    with wayland() as screen, application_read(tmp_path / "home", **screen.environment) as reader:
        hand = Hand(reader, screen)
        hand.start_the_demo()
        file = hand.workspace / "pagination" / "pages.py"
        broken = file.read_bytes()
        hand.do_a_turn()
        assert file.read_bytes() != broken
        screen.picture(tmp_path / "turn.png")
        hand.undo_the_turn()
        assert file.read_bytes() == broken
        screen.picture(tmp_path / "undone.png")
