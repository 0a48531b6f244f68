"""The front ends, each with the whole conversation: prompt, answers, undo of the turn, end.

Each gets the folder and the model's address; the key is in the environment.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import httpx2
import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

from desktop_agent import Agent, Allowed, ApprovalRequest, ChangeSelection, Decision, Denied, ModelRef, Workbench
from desktop_agent.rest.server import RestServer, ServeOptions
from tests.e2e.driver import Driver, ask_for_no_titles, drive
from tests.e2e.run.test_stream_input import program
from tests.e2e.same_journal.conversation import ANSWERS, MODEL, PROMPT
from tests.harness import PATIENCE_S
from tests.rest.serving import Block, blocks_of, up_to

Way = Callable[[Path, str], None]


def library(folder: Path, url: str) -> None:
    def approve(request: ApprovalRequest) -> Decision:
        return ANSWERS[request.tool]

    async def take() -> None:
        model = ModelRef(provider="anthropic", model=MODEL, base_url=url)
        async with Agent(folder, model=model, approve=approve) as agent:
            result = await agent.run(PROMPT)
            await agent.changes.undo(ChangeSelection(turn=result.turn))

    with asyncio.Runner() as runner:
        runner.run(take())


def headless(folder: Path, url: str) -> None:
    with program(folder, url, "--provider", "anthropic", "--model", MODEL) as other:
        other.send(type="submit_prompt", text=PROMPT)
        for _ in ANSWERS:
            request = other.hear("approval_requested")["request"]
            decision = msgspec.to_builtins(ANSWERS[request["tool"]])
            other.send(type="answer_approval", call_id=request["call_id"], decision=decision)
        turn = other.hear("turn_ended")["turn"]
        other.send(type="undo_changes", selection={"turn": turn})
        other.hear("changes_undone")
        assert other.end() == (0, "")


def window(folder: Path, url: str) -> None:
    async def journey(user: Driver) -> None:
        await user.see_ready()
        await user.type("composer", PROMPT)
        await user.press(Qt.Key.Key_Return)
        for _ in ANSWERS:
            await _answer(user)
        await user.see_turn_end()
        await user.click("undoTurnButton")
        await user.until_true(lambda: bool(user.transcript.changed.undos), "the turn is undone")
        await user.quit_with_key()

    ask_for_no_titles()
    drive(
        [str(folder), "--provider", "anthropic", "--model", MODEL, "--base-url", url], folder.parent / "album", journey
    )


async def _answer(user: Driver) -> None:
    await user.until_true(lambda: user.can_allow, "the dialog can be answered")
    (request,) = user.transcript.pending_approvals
    match ANSWERS[request.tool]:
        case Allowed(edited_command=str(command)):
            edit = await user.see(QPlainTextEdit, "approvalCommandEdit")
            edit.setPlainText(command)
            await user.until_true(lambda: user.can_allow, "the edited command was judged")
            await user.click("approveButton")
        case Denied(message=message):
            (await user.see(QLineEdit, "denyMessageEdit")).setText(message)
            await user.click("denyButton")
        case _:
            await user.click("approveButton")
    await user.until_true(lambda: request not in user.transcript.pending_approvals, "the question is answered")


def rest(folder: Path, url: str) -> None:
    async def take() -> None:
        server = RestServer(
            Workbench.from_environment({**os.environ, "ANTHROPIC_BASE_URL": url}), ServeOptions(folder=folder)
        )
        server.listen()
        running = asyncio.create_task(server.run())
        headers = {"authorization": f"Bearer {server.token}"}
        try:
            async with httpx2.AsyncClient(
                base_url=server.url, headers=headers, timeout=PATIENCE_S, trust_env=False
            ) as client:
                await _talk(client)
        finally:
            server.interrupt()
            await running

    with asyncio.Runner() as runner:
        runner.run(take())


async def _talk(client: httpx2.AsyncClient) -> None:
    created = await client.post("/v1/sessions", json={"provider": "anthropic", "model": MODEL})
    session = created.headers["location"]
    last = 0

    async def until(kind: str) -> Block:
        nonlocal last
        async with client.stream("GET", f"{session}/events", headers={"last-event-id": str(last)}) as answer:
            blocks = await up_to(blocks_of(answer), kind)
        last = max(block.id for block in blocks if block.id is not None)
        return blocks[-1]

    await client.post(f"{session}/prompts", json={"text": PROMPT})
    for _ in ANSWERS:
        request = (await until("approval_requested")).data["request"]
        decision = msgspec.to_builtins(ANSWERS[request["tool"]])
        await client.post(f"{session}/approvals/{request['call_id']}", json=decision)
    turn = (await until("turn_ended")).data["turn"]
    undone = await client.post(f"{session}/undo", json={"selection": {"turn": turn}})
    assert undone.status_code == 200, undone.text


WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "library": library,
        "headless": headless,
        "window": window,
        "rest": rest,
    }
)
"""A new front end is one more line."""
