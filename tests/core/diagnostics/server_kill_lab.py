"""A session that is killed with its server: `python -m tests.core.diagnostics.server_kill_lab FOLDER MODE NAME`

It fails if the server does not run by then. `MODE` is one of the scripted server, or `unconfined`.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import psutil

from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.live_settings import LiveSettings
from tests.core.diagnostics.scene import SERVER, create, log_of, until, with_server
from tests.harness import Ground
from tests.system_processes import running_with


def with_own_server(ground: Ground, *args: str) -> None:
    """Let the user define the server, so that no sandbox ends it."""
    words = json.dumps([str(SERVER), *args])
    path = ground.paths.settings_file({})
    path.parent.mkdir(parents=True)
    path.write_text(
        f'[[diagnostics.definitions]]\nname = "scripted"\ncommand = {json.dumps(sys.executable)}\nargs = {words}\n'
        'languages = { ".bad" = "bad" }\nsandbox = false\n'
    )
    ground.live = LiveSettings.load(path, {})


async def live(folder: Path, mode: str, name: str) -> None:
    ground = Ground(folder)
    if mode == "unconfined":
        with_own_server(ground, "parent", name)
    else:
        with_server(ground, mode, name)

    def is_there() -> bool:
        last_one = name if mode == "mute" else f"child-of-{name}"
        return "started" in log_of(ground) and bool(running_with(last_one, descendants()))

    script = until(is_there, [create("a.bad", "BAD one\n")])
    async with ground.session(script, approval="never", limits=TurnLimits(max_requests=400)) as s:
        await s.prompt()
        assert is_there()
        os.kill(os.getpid(), signal.SIGKILL)


def descendants() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))  # noqa: TID251 - the entry point
