"""Gives the model your own tools, and asks for a typed answer.

    python docs/examples/own_tools.py

A script stands in for the model: no key, no network. With a real model, write `Agent(folder, model="…", …)`.
"""

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

from desktop_agent import (
    Agent,
    Allowed,
    ApprovalRequest,
    Call,
    Denied,
    Say,
    ScriptedProvider,
    ToolError,
    in_order,
    tool,
)


class Team(Enum):
    """Who looks after a ticket."""

    WEB = "web"
    DATA = "data"


@dataclass(frozen=True)
class Ticket:
    """What the model is asked for."""

    number: int
    title: str
    severity: Literal["low", "high"] = "low"


TICKETS = {7: Ticket(7, "The last page is missing"), 8: Ticket(8, "Slow query", "high")}


@tool(is_read_only=True)
def find_ticket(number: Annotated[int, "As it stands behind the #."]) -> Ticket:
    """Look a ticket up."""
    if number not in TICKETS:
        raise ToolError(f"There is no ticket {number}; there are {sorted(TICKETS)}.")
    return TICKETS[number]


async def assign(number: int, team: Team, note: str = "") -> str:
    """Give a ticket to a team.

    Args:
        number: Its number.
        team: Who is to look after it.
        note: What they should know.
    """
    await asyncio.sleep(0)  # here it would ask the tracker
    return f"#{number} is with {team.value} now. {note}".rstrip()


def approve(request: ApprovalRequest) -> Allowed | Denied:
    """Allow what assigns a ticket, and no other call."""
    return Allowed() if request.tool == "assign" else Denied(message="Only tickets may be changed.")


REPLIES = [
    [Call("find_ticket", {"number": 9}), Call("find_ticket", {"number": 8})],
    [Call("assign", {"number": 8, "team": "data"}), Call("delete_file", {"path": "notes.txt"})],
    [Say("It is the slow query, and it is with the data team.")],
    [Say('{"number": 8, "title": "Slow query", "severity": "high"}')],
]


async def main(root: Path) -> None:
    """Run the example; everything it makes is in `root`."""
    (root / "app").mkdir()
    (root / "app" / "notes.txt").write_text("Keep me.\n", encoding="utf-8")
    model = ScriptedProvider(in_order(REPLIES))
    tools = [find_ticket, assign]
    async with Agent(root / "app", provider=model, tools=tools, approve=approve, home=root / "home") as agent:
        result = await agent.run("Who should look at the ticket about the query? Assign it.")
        for call in result.calls:
            sys.stdout.write(f"{call.state}: {call.result.content}\n")
        answer = await agent.run("Which ticket was it?", output=Ticket)
        sys.stdout.write(f"{answer.output}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(main(Path(scratch)))  # noqa: TID251 - entry point
