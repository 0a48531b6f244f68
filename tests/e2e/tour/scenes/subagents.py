"""Sub-agents at work, and one that asks."""

from pathlib import Path

from desktop_agent.core.transcript import ToolEntry
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import Tourist
from tests.servers import fault
from tests.servers.script import Told, reply, text, tool_use

_FIND = "Find every place where a price is rounded."
_TEST = "Write tests for an empty cart."
_CLEAN = "Remove what the last build left."


async def _play(tour: Tourist) -> None:
    await tour.send("Prepare the release: rounding, the empty cart, and the old build.")
    await tour.see_card()
    await tour.until(lambda: _ended(tour) == 1, "one has reported")
    await tour.until(lambda: any(entry.progress == "" for entry in _tasks(tour) if entry.result is None), "one thinks")
    tour.time.advance(41)
    await tour.take("sub-agents")
    tour.window.actions_.stop.trigger()
    tour.model.release()
    await tour.until(lambda: not tour.user.transcript.turns.is_running, "the turn has ended")


def _tasks(tour: Tourist) -> list[ToolEntry]:
    return [entry for entry in tour.user.transcript.entries if isinstance(entry, ToolEntry)]


def _ended(tour: Tourist) -> int:
    return sum(entry.result is not None for entry in _tasks(tour))


def _prepare(folder: Path) -> None:
    (folder / "build").mkdir()
    (folder / "build" / "old.txt").write_text("old\n")


SUBAGENTS = Scene(
    states=("sub-agents",),
    play=_play,
    prepare=_prepare,
    answers=(
        Told(
            "Prepare the release",
            reply(
                text("These three do not depend on each other, so I have them done side by side.\n"),
                tool_use("task", description="find where prices are rounded", prompt=_FIND, role="explore"),
                tool_use("task", description="test the empty cart", prompt=_TEST, role="general"),
                tool_use("task", description="remove the old build", prompt=_CLEAN, role="general"),
                input_tokens=5_200,
            ),
        ),
        Told(_FIND, reply(tool_use("grep", pattern="round"), input_tokens=4_100)),
        Told(
            _FIND,
            reply(
                text("Prices are rounded in one place, `src/cart.py:14`. Receipts print them as they are."),
                input_tokens=6_300,
                output_tokens=410,
            ),
        ),
        Told(_TEST, reply(tool_use("list_files", path="."), input_tokens=4_000)),
        Told(_TEST, reply(text("I begin with the cart."), fault.stall_after(events=3), input_tokens=4_000)),
        Told(
            _CLEAN,
            reply(
                tool_use("run_terminal_cmd", command="rm -rf build", explanation="Remove what was built"),
                input_tokens=4_000,
            ),
        ),
    ),
)
