"""No journey takes more actions than the guide says, by mouse or by keyboard alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.e2e.by_hand.answering import AnsweringInTheInbox, EditingACommand, TwoSessions
from tests.e2e.by_hand.beginning import AfterACrash, FirstChange
from tests.e2e.by_hand.finding import EditingANamedFile, GoingByPalette, UsingTheTerminal
from tests.e2e.by_hand.guide import stated_actions
from tests.e2e.by_hand.hands import Keyboard, Mouse
from tests.e2e.by_hand.reviewing import (
    Commenting,
    Committing,
    FromPlanToCommit,
    InAWorktree,
    InWords,
    Planning,
    UndoingOutOfOrder,
)
from tests.e2e.by_hand.stage import Journey, Stage, make_folder
from tests.e2e.by_hand.writing import Mentioning, Queueing, Steering
from tests.e2e.driver import Driver, drive
from tests.servers.threaded import ThreadedServer, serve

pytestmark = [pytest.mark.realwindow, pytest.mark.usefixtures("qapp")]

WAYS = (Mouse, Keyboard)
IN_A_ROW: tuple[type[Journey], ...] = (
    Mentioning,
    Steering,
    Queueing,
    EditingACommand,
    TwoSessions,
    AnsweringInTheInbox,
    Commenting,
    Planning,
    UndoingOutOfOrder,
    GoingByPalette,
    EditingANamedFile,
    Committing,
    InAWorktree,
    FromPlanToCommit,
    InWords,
    UsingTheTerminal,
)
"""Journeys in one window, each in a new session."""

QUICK_ONES = (
    Mentioning, Queueing, EditingACommand, GoingByPalette, Committing, InAWorktree, FromPlanToCommit, UsingTheTerminal
)  # fmt: skip
"""The journeys of every run, by keyboard: a widget out of order breaks them."""

AT_A_START: tuple[type[Journey], ...] = (FirstChange, AfterACrash)


@pytest.fixture
def folder(tmp_path: Path, ready_to_work: None) -> Path:
    folder = tmp_path / "my shop"
    make_folder(folder)
    return folder


def test_the_guide_states_every_journey_and_no_other() -> None:
    assert set(stated_actions()) == {each().row for each in (*IN_A_ROW, *AT_A_START)}


def test_the_quick_ones_with_the_keyboard(folder: Path) -> None:
    go(Keyboard, QUICK_ONES, [str(folder)], folder)


@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS)
def test_all_of_them_one_after_the_other(folder: Path, way: type[Keyboard]) -> None:
    go(way, IN_A_ROW, [str(folder)], folder)


@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS)
def test_from_the_first_start_on(
    tmp_path: Path, expected_logs: list[str], monkeypatch: pytest.MonkeyPatch, way: type[Keyboard]
) -> None:
    expected_logs.append("the window stands still")
    monkeypatch.chdir(tmp_path)
    go(way, [FirstChange], [], tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS)
def test_after_a_crash(folder: Path, way: type[Keyboard]) -> None:
    def kill(server: ThreadedServer) -> None:
        server.will(*AfterACrash.answers)
        crash = [sys.executable, "-m", "tests.e2e.by_hand.crash", str(folder.parent), str(folder)]
        assert subprocess.call([*crash, "--base-url", server.url], env=os.environ) == -signal.SIGKILL

    go(way, [AfterACrash], [], folder, before=kill)


def go(
    way: type[Keyboard],
    journeys: Sequence[type[Journey]],
    argv: list[str],
    folder: Path,
    before: Callable[[ThreadedServer], None] = lambda _: None,
) -> None:
    """Make the journeys in one window, each in a new session; compare the counted actions with the guide."""
    taken: dict[str, int] = {}

    async def live(user: Driver) -> None:
        await user.see_ready()
        await user.activate()
        stage = Stage(user, server, folder)
        for number, make in enumerate(journeys):
            if number:
                await stage.begin_anew()
            journey = make()
            taken[journey.row] = await walk(journey, stage, way(user))
        await user.quit()

    with serve() as server:
        before(server)
        drive([*argv, "--base-url", server.url], folder.parent, live, opens_questions=False)
    column = WAYS.index(way)
    assert taken == {row: stated[column] for row, stated in stated_actions().items() if row in taken}


async def walk(journey: Journey, stage: Stage, hand: Keyboard) -> int:
    stage.model.will(*journey.answers)
    await journey.begin(stage)
    if isinstance(hand, Mouse):
        await journey.by_mouse(stage, hand)
    else:
        await journey.by_keyboard(stage, hand)
    await journey.end(stage)
    return hand.actions
