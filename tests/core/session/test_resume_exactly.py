"""The request after a restart is, byte for byte, the one that would have been sent without it."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, Denied, ModelRef, ModelRequest
from desktop_agent.core.providers.anthropic import AnthropicFormat
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.wire_format import EncodedPictures, WireFormat
from tests.harness import FrozenClock, Ground, Open
from tests.pictures import png
from tests.providers import anthropic_provider
from tests.servers import fault
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.script import Answer, block, redacted_thinking, reply, text, thinking, tool_use

Step = Callable[[Open, Ground], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    """What is answered, and what the user does; between two steps the application may be closed and opened."""

    answers: Sequence[Answer]
    steps: Sequence[Step]
    files: dict[str, str | bytes] = field(default_factory=dict[str, "str | bytes"])
    is_known: bool = True
    """Whether the server knows all of it."""


def prompt(words: str) -> Step:
    async def step(s: Open, _: Ground) -> None:
        await s.prompt(words)

    return step


def asked(words: str, *decisions: Denied | None) -> Step:

    async def step(s: Open, _: Ground) -> None:
        s.submit(ops.SubmitPrompt(text=words))
        for decision in decisions:
            await s.answer(decision)
        await s.rx.expect(ev.TurnEnded)

    return step


def does(op: ops.Op, until: type[ev.ChangesUndone | ev.ChangesRedone | ev.Rewound | ev.ModeSet]) -> Step:
    async def step(s: Open, _: Ground) -> None:
        s.submit(op)
        await s.rx.expect(until)

    return step


def writes(path: str, content: str) -> Step:
    async def step(_: Open, ground: Ground) -> None:
        ground.write(path, content)

    return step


async def stopped(s: Open, _: Ground) -> None:
    """Submit a prompt and stop the turn in the middle of a sentence."""
    await s.carry_out(ops.SubmitPrompt(text="Talk."), ev.TextDelta)
    await s.carry_out(ops.Interrupt(), ev.TurnEnded)


async def queued(s: Open, _: Ground) -> None:
    """Queue a prompt behind another."""
    s.submit(ops.SubmitPrompt(text="First."))
    await s.carry_out(ops.SubmitPrompt(text="Second."), ev.TurnEnded)
    await s.rx.expect(ev.TurnEnded)


EDIT = tool_use("edit_file", path="a.py", old_str="x = 1", new_str="x = 2").with_id("toolu_edit")
READ = tool_use("read_file", path="a.py").with_id("toolu_read")
UNDO = ops.UndoChanges(selection=ChangeSelection(turn=1), reason="not yet")
REDO = ops.RedoChanges(selection=ChangeSelection(turn=1))
LAST = reply(text("The last."))

SCENARIOS: dict[str, Scenario] = {
    "talk": Scenario([reply(text("One.")), reply(text("Two.")), LAST], [prompt("a"), prompt("b"), prompt("c")]),
    "thinking": Scenario(
        [
            reply(thinking("Hm…", signature="sig=="), redacted_thinking("secret"), text("One."), READ),
            reply(thinking("Hm.", signature="sig2"), text("Two.")),
            LAST,
        ],
        [prompt("a"), prompt("b")],
        {"a.py": "x = 1\n"},
    ),
    "tools": Scenario(
        [reply(READ, EDIT), reply(text("Done.")), LAST], [asked("a", None), prompt("b")], {"a.py": "x = 1\n"}
    ),
    "denied": Scenario(
        [reply(EDIT), reply(text("So.")), LAST], [asked("a", Denied(message="no")), prompt("b")], {"a.py": "x = 1\n"}
    ),
    "failures": Scenario(
        [
            reply(tool_use("read_file", path="none").with_id("toolu_1"), tool_use("nothing").with_id("toolu_2")),
            LAST,
            LAST,
        ],
        [prompt("a"), prompt("b")],
    ),
    "long output": Scenario(
        [reply(tool_use("read_file", path="long.txt").with_id("toolu_1")), reply(text("Long.")), LAST],
        [prompt("a"), prompt("b")],
        {"long.txt": "".join(f"{number} ünïcödé \U0001f600\n" for number in range(9000))},
    ),
    "pictures": Scenario(
        [reply(tool_use("view_image", path="a.png").with_id("toolu_1")), reply(text("Blue.")), LAST],
        [prompt("a"), prompt("b")],
        {"a.png": png(8, 8)},
    ),
    "undo and redo": Scenario(
        [reply(EDIT), reply(text("Done.")), LAST, LAST],
        [asked("a", None), does(UNDO, ev.ChangesUndone), prompt("b"), does(REDO, ev.ChangesRedone), prompt("c")],
        {"a.py": "x = 1\n"},
    ),
    "rewound": Scenario(
        [reply(text("One.")), reply(READ), reply(text("Two.")), LAST, LAST],
        [
            prompt("a"),
            prompt("b"),
            does(ops.RewindTo(turn=2, scope="conversation"), ev.Rewound),
            prompt("c"),
            prompt("d"),
        ],
        {"a.py": "x = 1\n"},
    ),
    "rewound with its files, and redone": Scenario(
        [reply(text("One.")), reply(EDIT), reply(text("Two.")), LAST, LAST],
        [
            prompt("a"),
            asked("b", None),
            does(ops.RewindTo(turn=2, scope="both"), ev.Rewound),
            prompt("c"),
            does(ops.RedoChanges(selection=ChangeSelection(turn=2)), ev.ChangesRedone),
            prompt("d"),
        ],
        {"a.py": "x = 1\n"},
    ),
    "stopped": Scenario(
        [reply(text("Half of a sentence."), fault.stall_after(events=3)), LAST], [stopped, prompt("b")]
    ),
    "queued": Scenario([reply(text("One.")), reply(text("Two.")), LAST], [queued, prompt("c")]),
    "another mode": Scenario(
        [reply(text("One.")), reply(text("Two.")), LAST],
        [
            prompt("a"),
            does(ops.SetMode(sandbox="strict"), ev.ModeSet),
            prompt("b"),
            does(ops.SetMode(model=ModelRef(provider="anthropic", model="claude-test-old")), ev.ModeSet),
            prompt("c"),
        ],
    ),
    "a file that changed since it was read": Scenario(
        [reply(READ), reply(text("Read.")), reply(EDIT), reply(text("Changed.")), LAST],
        [prompt("a"), writes("a.py", "x = 1  # mine\n"), prompt("b"), prompt("c")],
        {"a.py": "x = 1\n"},
    ),
    "a block nobody knows": Scenario(
        [reply(block({"type": "server_thing", "data": {"n": 1.5, "blob": "x", "size": 3}}), text("One.")), LAST],
        [prompt("a"), prompt("b")],
        is_known=False,
    ),
    "an id used twice": Scenario(
        [reply(READ), reply(READ), reply(text("Twice.")), reply(READ), LAST],
        [prompt("a"), prompt("b")],
        {"a.py": "x = 1\n"},
    ),
    "refused": Scenario(
        [reply(text("One.")), reply(text("No."), stop_reason="refusal"), LAST], [prompt("a"), prompt("b"), prompt("c")]
    ),
    "an error of the provider": Scenario(
        [reply(text("One.")), fault.unauthorized(), LAST], [prompt("a"), prompt("b"), prompt("c")]
    ),
}


async def bodies(
    folder: Path, scenario: Scenario, *, is_restarted: bool, monkeypatch: pytest.MonkeyPatch
) -> list[bytes]:
    """Play the scenario and return every body that was sent; the workspace is the same folder every time."""
    sent: list[bytes] = []

    def noted(wire: AnthropicFormat, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        sent.append(WireFormat.encode(wire, request, pictures))
        return sent[-1]

    monkeypatch.setattr(AnthropicFormat, "encode", noted)
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    ground = Ground(folder)
    ground.clock = FrozenClock()
    for path, content in scenario.files.items():
        ground.write(path, content)
    async with AnthropicServer(*scenario.answers, is_checking=scenario.is_known) as server, AsyncExitStack() as stack:

        async def source(_model: ModelRef) -> Provider:
            return anthropic_provider(api_key="key", base_url=server.url)

        s = await stack.enter_async_context(ground.session([], provider_source=source))
        for step in scenario.steps:
            await step(s, ground)
            if is_restarted:
                await stack.aclose()
                s = await stack.enter_async_context(ground.session([], provider_source=source, resume=s.id))
        assert server.violations == []
        assert server.unused_answers == 0
    return sent


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_restart_between_steps_changes_no_byte_of_any_request(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = SCENARIOS[name]
    folder = tmp_path / "ground"
    without = await bodies(folder, scenario, is_restarted=False, monkeypatch=monkeypatch)
    with_restarts = await bodies(folder, scenario, is_restarted=True, monkeypatch=monkeypatch)
    assert len(without) > 1
    assert with_restarts == without
