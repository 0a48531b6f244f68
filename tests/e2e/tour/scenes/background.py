"""Background commands, and events in other sessions."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import Job
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import Tourist
from tests.servers import fault
from tests.servers.script import ToolUse, reply, text, tool_use

_WATCH = "sh tools/watch.sh"
_CHECK = "sh tools/check.sh --all-labels"


def _write_tools(folder: Path) -> None:
    tools = folder / "tools"
    tools.mkdir()
    (tools / "watch.sh").write_text("echo 'Watching 2 files'\nexec sleep 600\n")
    (tools / "check.sh").write_text("echo '1 label does not fit on its parcel'\nexit 1\n")


async def _play(tour: Tourist) -> None:
    await tour.send("Watch the folder, and check the labels meanwhile.")
    for _ in range(2):
        await tour.allow()
    await tour.see_turn_end()
    await tour.until(lambda: _states(tour) == ["exited", "running"], "one command has ended")
    tour.time.advance(190)
    tour.window.actions_.toggle_jobs.trigger()
    await tour.see(QWidget, "jobsPanel")
    await tour.until(lambda: any("Watching" in job.last_line for job in _jobs(tour)), "its output was looked at")
    await tour.look_round()
    await tour.take("jobs")
    tour.window.actions_.toggle_jobs.trigger()
    await _two_more(tour)
    tour.window.actions_.open_inbox.trigger()
    await tour.see(QWidget, "inboxPopup")
    await tour.take("inbox-several")
    await tour.press(Qt.Key.Key_Escape)
    await tour.look_round()


async def _two_more(tour: Tourist) -> None:
    await _begin_anew(tour)
    await tour.send("Print the labels anew.")
    await tour.see_card()
    await _begin_anew(tour)
    asked = len(tour.model.messages)
    await tour.send("What does the receipt print?")
    await tour.user.see_stalled(tour.model, asked)
    await _begin_anew(tour)
    tour.time.advance(60)
    tour.model.release()
    await tour.until(lambda: tour.window.top_bar.inbox_button.text() == "2", "both are in the inbox")


async def _begin_anew(tour: Tourist) -> None:
    before = tour.user.transcript
    tour.window.actions_.new_session.trigger()
    await tour.until(lambda: tour.user.transcript is not before, "there is a new conversation")


def _jobs(tour: Tourist) -> Sequence[Job]:
    return tour.user.transcript.session.jobs


def _states(tour: Tourist) -> list[str]:
    return sorted(job.state for job in _jobs(tour))


def _command(command: str, explanation: str, *, is_background: bool = True) -> ToolUse:
    return tool_use("run_terminal_cmd", command=command, is_background=is_background, explanation=explanation)


BACKGROUND = Scene(
    states=("jobs", "inbox-several"),
    play=_play,
    prepare=_write_tools,
    answers=(
        reply(text("The watcher goes on in the background.\n"), _command(_WATCH, "Watch the folder")),
        reply(_command(_CHECK, "Check the labels")),
        reply(text("Both run. You hear of it when one of them ends.")),
        reply(text("The labels are printed by a command.\n"), _command("lp labels.pdf", "Print", is_background=False)),
        reply(text("The receipt has one row for each article."), fault.stall_after(events=4)),
    ),
)
