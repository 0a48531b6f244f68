"""A clash names the author of each version, and an undo without effect says so."""

from functools import partial
from pathlib import Path

import pytest

from desktop_agent.core.protocol.model import ChangeSelection, Clash, FileOutcome, Maker
from desktop_agent.core.providers.scripted import Call
from desktop_agent.core.undo.refusals import describe_outcome
from tests.harness import Ground, Open, with_lines_changed

LINES = [f"line {number}\n" for number in range(40)]
text_with = partial(with_lines_changed, LINES)


def edit(**changed: str) -> list[Call]:
    return [Call("create_file", {"path": "a.txt", "content": text_with(**changed), "if_exists": "overwrite"})]


FIVE = edit(line_5="five\n")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path / "ground")
    ground.write("a.txt", "".join(LINES))
    return ground


async def undo(s: Open, turn: int) -> FileOutcome:
    (outcome,) = (await s.undo(ChangeSelection(turn=turn))).outcomes
    return outcome


def clash_of(outcome: FileOutcome) -> Clash:
    assert outcome.clash is not None
    return outcome.clash


async def test_a_clash_between_two_turns_names_both(ground: Ground) -> None:
    further = edit(line_5="five\n", line_30="thirty\n"), edit(line_5="cinq\n", line_30="thirty\n")
    async with ground.after(FIVE, *further) as s:
        outcome = await undo(s, 1)
        assert (outcome.state, ground.read("a.txt")) == ("conflict", text_with(line_5="cinq\n", line_30="thirty\n"))
        assert clash_of(outcome).base_by == (Maker("agent", 1),)
        assert clash_of(outcome).yours_by == (Maker("agent", 3),), "turn 2 changed another place"
        assert "Turn 3 changed" in outcome.reason
        said = describe_outcome(outcome)
        assert "turn 1: " in said
        assert "on disk (turn 3) " in said
        assert "your" not in said


@pytest.mark.parametrize(
    ("further", "typed", "authors"),
    [
        ([], text_with(line_5="mine\n"), (Maker("person"),)),
        (
            [edit(line_5="cinq\n", line_6="six\n")],
            text_with(line_5="cinq\n", line_6="mine\n"),
            (Maker("agent", 2), Maker("person")),
        ),
        ([edit(line_5="cinq\n")], text_with(line_5="cinq\n", line_35="mine\n"), (Maker("agent", 2),)),
    ],
    ids=["the user", "a turn and then the user", "a turn, and not the user, who edited elsewhere"],
)
async def test_a_clash_names_who_wrote_there_since(
    ground: Ground, further: list[list[Call]], typed: str, authors: tuple[Maker, ...]
) -> None:
    async with ground.after(FIVE, *further) as s:
        ground.write("a.txt", typed)
        outcome = await undo(s, 1)
        assert clash_of(outcome).yours_by == authors
        assert further or outcome.reason == "You changed the same lines since."


async def test_a_clash_of_a_redo_names_who_wrote_since(ground: Ground) -> None:
    async with ground.after(FIVE) as s:
        await undo(s, 1)
        ground.write("a.txt", text_with(line_5="mine\n"))
        (outcome,) = (await s.redo_step()).outcomes
        assert clash_of(outcome).yours_by == (Maker("person"),)
