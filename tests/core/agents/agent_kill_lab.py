"""Turns of an agent, each killed one recorded event later. `python -m tests.core.agents.agent_kill_lab FOLDER`"""

import itertools
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from tests.core.agents.scene import POEM, Scene, call, ended, request, said
from tests.e2e.kill_lab import live

COMMAND = "echo made > shell.txt; sed -i 's/^line 20$/LINE 20/' poem.txt"
SERVED = "echo more > more.txt; rm shell.txt"
STEPS = [
    said("I begin."),
    call("1", "edit", "Edit", status="in_progress", locations=[{"path": "poem.txt"}]),
    {"write": ["poem.txt", POEM.replace("line 2\n", "LINE 2\n")]}, ended("1", "ok"),
    {"ask": {"toolCallId": "2", "title": COMMAND, "kind": "execute", "rawInput": {"command": COMMAND}}},
    {"run": COMMAND}, {"end": True}, ended("2", "ran"),
    {"ask": {"toolCallId": "4", "title": SERVED, "kind": "execute", "rawInput": {"command": SERVED}}},
    request("terminal/create", command=SERVED),
    *(request(f"terminal/{method}", terminalId="TERMINAL") for method in ("wait_for_exit", "release")),
    {"end": True}, ended("4", "ran"),
    call("3", "edit", "Late", rawInput={"path": "poem.txt"}), {"write": ["late.txt", "late\n"]}, ended("3"),
    said("Done."),
]  # fmt: skip


def scene_in(folder: Path) -> Scene:
    scene = Scene(folder)
    scene.ground.write("poem.txt", POEM)
    scene.script["prompts"] = [STEPS]
    return scene


async def one_turn(scene: Scene, kill_at: int) -> None:
    recorded = itertools.count(1)

    def kill_in_time(event: ev.Event) -> None:
        if isinstance(event, ev.JournalEvent) and event.seq > 2 and next(recorded) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    async with scene.ground.session([], model=scene.model, sandbox="none") as opened:
        opened.rx.at_once = kill_in_time
        opened.submit(ops.SubmitPrompt(text="go"))
        await opened.answer()
        await opened.answer()
        await opened.rx.expect(ev.TurnEnded)
        opened.rx.at_once = lambda _: None


def main() -> None:
    for number in itertools.count(1):
        child = live(partial(one_turn, scene_in(Path(sys.argv[1]) / f"{number:02}"), number))
        _, status = os.waitpid(child, 0)
        print(json.dumps({"killed": os.WIFSIGNALED(status)}), flush=True)
        if not os.WIFSIGNALED(status):
            sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
