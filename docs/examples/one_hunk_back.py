"""Looks at what a session changed, takes one hunk of it back, and applies it again.

    python docs/examples/one_hunk_back.py

It creates a folder and a session with one edit in two places. A script stands in for the model: no key, no
network.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from desktop_agent import Agent, Call, ChangeSelection, Say, ScriptedProvider, in_order

POEM = ["The colour of the sea", *["is told by the wind"] * 10, "and has no other colour", ""]
EDIT = Call("edit_file", {"path": "poem.txt", "old_str": "colour", "new_str": "color", "replace_all": True})


async def main(root: Path) -> None:
    """Run the example; everything it makes is in `root`."""
    poem = root / "project" / "poem.txt"
    poem.parent.mkdir()
    poem.write_text("\n".join(POEM), encoding="utf-8")
    script = ScriptedProvider(in_order([[EDIT], [Say("Done.")]]))
    async with Agent(poem.parent, provider=script, approval="on_request", home=root / "home") as agent:
        await agent.run("Spell it the American way.")
        session_id = agent.id
    async with Agent(resume=session_id, home=root / "home") as agent:
        await review(agent, poem)


async def review(agent: Agent, poem: Path) -> None:
    """Do what the review panel does: list, show, undo, redo."""
    for row in agent.changes.list():
        print(f"{row.change.kind} {row.path} +{row.change.added} -{row.change.removed}, {row.state}")
    print((await agent.changes.patch()).decode("utf-8", "replace"))

    row = agent.changes.list()[0]
    hunks = await agent.changes.hunks(row)
    selection = ChangeSelection(path=row.path, hunks=(hunks[1].key,))
    for outcome in await agent.changes.undo(selection, reason="British sea"):
        print(f"undo: {outcome.path} {outcome.state}, {americanisms(poem)} of 2")
    for outcome in await agent.changes.redo(selection):
        print(f"redo: {outcome.path} {outcome.state}, {americanisms(poem)} of 2")


def americanisms(poem: Path) -> int:
    """How many of the two words are as the session left them."""
    return poem.read_text(encoding="utf-8").count("color")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else scratch)))  # noqa: TID251 - entry point
