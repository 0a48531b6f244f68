"""Runs several agents at once: the first that finds something wins, and the others are stopped.

    python docs/examples/several_agents.py

Scripts stand in for the models: no key, no network. One agent's command is edited; another never finishes.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from desktop_agent import Agent, Allowed, ApprovalRequest, Call, Provider, Result, Say, ScriptedProvider, in_order

LOOK = Call("run_terminal_cmd", {"command": "grep -rn TODO .", "explanation": "Look for what is left to do"})


def approve(request: ApprovalRequest) -> Allowed:
    """Allow a command, but only in the folder with the sources."""
    return Allowed(edited_command="grep -rn TODO src") if request.command else Allowed()


async def wait(request: ApprovalRequest) -> bool:
    """Think about it for longer than anyone will wait."""
    await asyncio.sleep(3600)
    return request.command is None


async def look(folder: Path, model: Provider, home: Path, *, is_slow: bool) -> Result:
    """Let one agent look; when this is cancelled, its turn is stopped and its session closed."""
    async with Agent(
        folder, provider=model, approve=wait if is_slow else approve, approval="always", home=home
    ) as agent:
        return await agent.run("What is left to do here?")


async def main(root: Path) -> None:
    """Run the example; everything it makes is in `root`."""
    (root / "app" / "src").mkdir(parents=True)
    (root / "app" / "src" / "a.py").write_text("x = 1  # TODO: rename\n", encoding="utf-8")
    (root / "app" / "notes.txt").write_text("TODO: buy milk\n", encoding="utf-8")
    looking = [
        asyncio.create_task(
            look(root / "app", ScriptedProvider(in_order([[LOOK], [Say("Rename x.")]])), root / "home", is_slow=is_slow)
        )
        for is_slow in (True, False)
    ]
    done, running = await asyncio.wait(looking, return_when=asyncio.FIRST_COMPLETED)
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    for task in done:
        sys.stdout.write(f"{task.result().calls[0].result.content}\n{task.result().text}\n")
    for summary in await Agent.list_sessions(root / "home"):
        sys.stdout.write(f"{summary.title}: {summary.state}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(main(Path(scratch)))  # noqa: TID251 - entry point
