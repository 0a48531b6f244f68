"""The kill test: starts turns and kills them. `python -m tests.e2e.kill_lab FOLDER COUNT SEED`

Every trial is a forked child with its own workspace: turns with edits and commands, undo and redo of a hunk and of a
turn, a write of the user, a rewind. It is killed at a random moment, and the test judges the disk.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import review_hunks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ChangeSelection, SandboxMode
from desktop_agent.core.providers.scripted import Call, Reply, Say, Think
from desktop_agent.core.system.files import digest_of
from tests.harness import Ground, Open

LINES = [b"line %d\n" % number for number in range(20_000)]
FILES: dict[str, bytes] = {
    "a.py": b"x = 1\r\n" * 50,
    "b.txt": b"b\n",
    "gone.bin": bytes(range(256)),
    "many.txt": b"".join(LINES),
    "name.txt": b"a file that is renamed\n" * 20,
    "old/gone.txt": b"goes with its folder\n",
    "run.sh": b"#!/bin/sh\n",
}
PERSONS_LINE = b"the user's\n"
COMMAND = """\
for i in 1 2 3 4 5; do echo $i >> many.txt; done
mv a.py moved.py; rm old/gone.txt; rmdir old; mkdir -p made/deep; ln -s b.txt link; chmod 755 run.sh; seq 1 9999"""

SCRIPT: list[Reply] = [
    [
        Think("Where to begin?"),
        Say("Looking around. " * 50),
        Call("read_file", {"path": "a.py"}),
        Call("list_files", {"path": "."}),
    ],
    [
        Call("edit_file", {"path": "b.txt", "old_str": "b", "new_str": "B" * 30_000}),
        Call("create_file", {"path": "new/deep/c.txt", "content": "c\n" * 9000}),
        Call("delete_file", {"path": "gone.bin"}),
        Call("edit_file", {"path": "many.txt", "old_str": "line 500\n", "new_str": "five hundred\n"}),
        Call("edit_file", {"path": "many.txt", "old_str": "line 9000\n", "new_str": "nine thousand\n"}),
        Call("rename_file", {"source_path": "name.txt", "dest_path": "new/name.txt"}),
    ],
    [Call("run_terminal_cmd", {"command": COMMAND})],
    [Call("edit_file", {"path": "b.txt", "old_str": "B" * 30_000, "new_str": "done"})],
    [Say("All done. " * 100)],
    [Call("edit_file", {"path": "moved.py", "old_str": "x = 1", "new_str": "x = 2", "replace_all": True})],
    [Call("run_terminal_cmd", {"command": "rm moved.py; echo more >> run.sh"})],
    [Say("Done again.")],
]


async def one_life(ground: Ground, sandbox: SandboxMode) -> None:
    async with ground.session(SCRIPT, approval="on_request", sandbox=sandbox) as s:
        await one_turn(s, "go " * 8000)
        hunk = ChangeSelection(turn=1, path="many.txt", hunks=(first_hunk(s, ground, "many.txt"),))
        for selection in (hunk, ChangeSelection(turn=1)):
            await s.carry_out(ops.UndoChanges(selection=selection), ev.ChangesUndone)
            await s.carry_out(ops.RedoChanges(selection=selection), ev.ChangesRedone)
        many = (ground.workspace / "many.txt").read_bytes()
        edited = many.replace(b"line 15000\n", PERSONS_LINE)
        await s.carry_out(ops.WriteFile(path="many.txt", expected=digest_of(many), content=edited), ev.ChangesRecorded)
        await one_turn(s, "and again")
        await s.carry_out(ops.RewindTo(turn=2, scope="both"), ev.Rewound)


async def one_turn(s: Open, prompt: str) -> None:
    s.submit(ops.SubmitPrompt(text=prompt))
    while isinstance(event := await s.rx.expect((ev.ApprovalRequested, ev.TurnEnded)), ev.ApprovalRequested):
        s.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=Allowed()))


def first_hunk(s: Open, ground: Ground, path: str) -> HunkKey:
    records = [record.change for record in s.session.transcript.changes.values() if record.change.path == path]
    net = net_change(records)
    return review_hunks(diff_change(net, ground.blob(net.before), ground.blob(net.after)))[0].key


def prepare(folder: Path) -> Ground:
    ground = Ground(folder)
    for name, content in FILES.items():
        ground.write(name, content)
    return ground


async def run_lab(module: str, folder: Path, kills: int, seed: int) -> list[dict[str, float]]:
    command = [sys.executable, "-m", module, str(folder), str(kills), str(seed)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return [json.loads(line) for line in output.splitlines()]


def live(life: Callable[[], Coroutine[object, object, None]]) -> int:
    """Fork a child that lives this life; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        asyncio.run(life())  # noqa: TID251 - the entry point of the forked process
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - the parent must hear of it, whatever it is
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    started = time.monotonic()
    child = live(partial(one_life, prepare(folder / "whole"), "none"))
    _, status = os.waitpid(child, 0)
    assert status == 0, "the whole life must succeed"
    lifetime_s = time.monotonic() - started
    print(json.dumps({"lifetime_s": lifetime_s}), flush=True)
    for number in range(count):
        ground = prepare(folder / f"{number:04}")
        delay_s = rng.uniform(0, lifetime_s)
        child = live(partial(one_life, ground, "none" if number % 2 else "restricted"))
        time.sleep(delay_s)  # noqa: TID251 - the random moment is the point
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(json.dumps({"trial": number, "delay_s": delay_s}), flush=True)


if __name__ == "__main__":
    main()
