"""A session whose model is an agent that follows a script (`scripted_agent.py`), and the steps of such scripts."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef, SandboxMode, TextBlock
from desktop_agent.core.system.processes.shell import joined_words
from tests.acp.editor import judge
from tests.harness import Ground, Open

PROGRAM = Path(__file__).with_name("scripted_agent.py")
POEM = "".join(f"line {number}\n" for number in range(1, 41))


def said(text: str) -> dict[str, Any]:
    return {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}}


def call(number: str, kind: str, title: str = "A call", **fields: Any) -> dict[str, Any]:
    fields = {"title": title, "kind": kind, "status": "pending", **fields}
    return {"update": {"sessionUpdate": "tool_call", "toolCallId": number, **fields}}


def ended(number: str, text: str = "", status: str = "completed") -> dict[str, Any]:
    content = [{"type": "content", "content": {"type": "text", "text": text}}] if text else []
    fields = {"toolCallId": number, "status": status, "content": content}
    return {"update": {"sessionUpdate": "tool_call_update", **fields}}


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"request": method, "params": params}


class Scene:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ground = Ground(folder)
        self.log = folder / "lines"
        self.script: dict[str, Any] = {"prompts": []}

    @property
    def model(self) -> ModelRef:
        path = self.folder / "script.json"
        path.write_text(json.dumps(self.script), encoding="utf-8")
        return ModelRef(provider="acp", model=joined_words((sys.executable, str(PROGRAM), str(path), str(self.log))))

    @asynccontextmanager
    async def session(
        self, *prompts: list[dict[str, Any]], approval: ApprovalPolicy = "on_request", sandbox: SandboxMode = "none"
    ) -> AsyncGenerator[Open]:
        """Open a session with the agent; in the end every line of both sides is judged by the published schema."""
        self.script["prompts"] = list(prompts)
        async with self.ground.session([], model=self.model, approval=approval, sandbox=sandbox) as opened:
            yield opened
        self.judge_lines()

    def lines(self) -> list[tuple[str, dict[str, Any]]]:
        return [(line[0], json.loads(line[2:])) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def judge_lines(self) -> None:
        asked: dict[tuple[str, object], str] = {}
        for side, message in self.lines():
            if "method" in message:
                kind = "Request" if "id" in message else "Notification"
                judge(message["method"], kind, message["params"])
                asked[side, message.get("id")] = message["method"]
            elif "result" in message:
                judge(asked["<" if side == ">" else ">", message["id"]], "Response", message["result"])

    def sent(self, method: str) -> list[dict[str, Any]]:
        return [message["params"] for side, message in self.lines() if side == ">" and message.get("method") == method]


def texts(opened: Open) -> list[str]:
    blocks = [block for event in opened.rx.all(ev.MessageDone) for block in event.content]
    return [block.text for block in blocks if isinstance(block, TextBlock)]


def answers(opened: Open) -> list[Any]:
    """Return what the agent was answered to its requests."""
    return [json.loads(line) for text in texts(opened) for line in text.splitlines()]
