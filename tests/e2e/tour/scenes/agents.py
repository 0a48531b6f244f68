"""An agent of another program: chosen, at work, with its own options and questions."""

import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListView

from tests.core.agents.scene import PROGRAM, call, ended, said
from tests.e2e import orders
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import CTRL, Tourist

_SCRIPT = Path("/tmp/tour/code/weaver.json")


def _select(option_id: str, category: str, name: str, value: str, *names: str) -> dict[str, Any]:
    options = [{"value": each.lower(), "name": each} for each in names]
    return {
        "id": option_id, "name": name, "category": category, "type": "select", "currentValue": value, "options": options
    }  # fmt: skip


_EDIT = {"type": "diff", "path": orders.MODULE, "oldText": orders.BEFORE, "newText": orders.AFTER}
_PLAN = "1. Write a test for an order with 10 percent off\n2. Add `discount` to an order\n3. Print it above the sum"
_TEXT = {"type": "content", "content": {"type": "text", "text": _PLAN}}
_WEAVER: dict[str, Any] = {
    "options": [
        _select("model", "model", "Model", "swift 3", "Swift 3", "Deep 3"),
        _select("effort", "thought_level", "Effort", "high", "Low", "High"),
        _select("mode", "mode", "Mode", "ask", "Ask", "Plan"),
        {"id": "web", "name": "Search the web", "type": "boolean", "currentValue": False},
    ],
    "answers": {
        "initialize": {"protocolVersion": 1, "agentInfo": {"name": "weaver", "title": "Weaver", "version": "3.1"}}
    },
    "prompts": [
        [
            said("I make the totals a generator, and then run the tests."),
            call("1", "edit", f"Edit {orders.MODULE}", locations=[{"path": orders.MODULE}], content=[_EDIT]),
            {"ask": {"toolCallId": "1"}},
            {"write": [orders.MODULE, orders.AFTER]},
            {"end": True},
            ended("1"),
            call("2", "execute", "Run the tests", rawInput={"command": "python3 -m unittest > report.txt 2>&1"}),
            {"ask": {"toolCallId": "2"}},
            {"run": "echo 'Ran 4 tests, all passed' > report.txt"},
            {"end": True},
            ended("2", "Ran 4 tests in 0.1 s\n\nOK"),
            {"update": {"sessionUpdate": "usage_update", "used": 31_000, "size": 200_000}},
            said("The totals come one by one now, and the four tests pass. Their report is in `report.txt`."),
        ],
        [
            call("3", "switch_mode", "Ready to code?", content=[_TEXT]),
            {
                "ask": {"toolCallId": "3"},
                "options": [
                    {"optionId": "auto", "name": "Yes, and accept all edits", "kind": "allow_always"},
                    {"optionId": "ask", "name": "Yes, and ask for each edit", "kind": "allow_once"},
                    {"optionId": "plan", "name": "No, go on planning", "kind": "reject_once"},
                ],
            },
            {"end": True},
        ],
    ],
}


def _prepare(_folder: Path) -> None:
    _SCRIPT.write_text(json.dumps(_WEAVER))
    codex = Path.home() / ".local" / "bin" / "codex-acp"
    codex.parent.mkdir(parents=True, exist_ok=True)
    codex.write_text("#!/bin/sh\n")
    codex.chmod(0o755)


async def _play(tour: Tourist) -> None:
    await tour.press(Qt.Key.Key_M, CTRL | Qt.KeyboardModifier.ShiftModifier)
    rows = await tour.see(QListView, "modelList")
    model = rows.model()
    names = lambda: [model.index(row, 0).data() for row in range(model.rowCount())]  # noqa: E731 - short
    await tour.until(lambda: "weaver" in names() and "Connect OpenAI…" in names(), "the agents are listed")
    rows.setCurrentIndex(model.index(names().index("weaver"), 0))
    await tour.take("agent-models")
    await tour.press(Qt.Key.Key_Return)
    await tour.send("Let the totals come one by one, and run the tests.")
    await tour.see_card()
    await tour.allow()
    await tour.until(lambda: any(one.command for one in tour.user.transcript.pending_approvals), "it may run a command")
    await tour.see_card()
    await tour.take("agent-command")
    await tour.allow()
    await tour.see_turn_end()
    await tour.take("agent")
    await tour.send("Show a discount on the receipt. Plan it first.")
    await tour.until(lambda: bool(tour.user.transcript.pending_approvals), "it asks about its plan")
    await tour.take("agent-question")
    await tour.user.stop_turn()


AGENTS = Scene(
    states=("agent-models", "agent-command", "agent", "agent-question"),
    play=_play,
    prepare=_prepare,
    settings=f'[[agents]]\nname = "weaver"\ncommand = "{sys.executable}"\nargs = ["{PROGRAM}", "{_SCRIPT}"]\n',
)
