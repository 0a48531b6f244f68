"""A project's own settings, MCP servers, and agents of other programs."""

import asyncio
from pathlib import Path

from PySide6.QtWidgets import QPushButton

from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import Tourist
from tests.parts import visible_texts

_SERVER = """\
import json, sys

FIELDS = {"article": {"type": "string"}, "pieces": {"type": "integer"}}
TOOLS = (
    ("in_stock", "How many pieces of an article are there.", ("article",)),
    ("order_more", "Order an article from its maker.", ("article", "pieces")),
    ("list_makers", "Who makes what.", ()),
)


def schema(fields):
    return {"type": "object", "properties": {each: FIELDS[each] for each in fields}, "required": list(fields)}


def answer(method):
    match method:
        case "initialize":
            info = {"name": "stock", "version": "2.4"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [{"name": n, "description": d, "inputSchema": schema(f)} for n, d, f in TOOLS]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"])
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
_AGENT = """\
import json, sys

MODES = [{"id": each, "name": each} for each in ("auto", "ask", "plan")]
ANSWERS = {
    "initialize": {
        "protocolVersion": 1,
        "agentInfo": {"name": "reviewer", "title": "Reviewer", "version": "1.3"},
        "agentCapabilities": {"loadSession": True, "promptCapabilities": {"image": True}},
    },
    "session/new": {"sessionId": "1", "modes": {"currentModeId": "auto", "availableModes": MODES}},
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = ANSWERS.get(request["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
_DEFINED = """
[[mcp.definitions]]
name = "stock"
command = "python3"
args = ["tools/stock_server.py"]

[[mcp.definitions]]
name = "tracker"
command = "tracker-mcp"
args = ["--project", "shop"]

[[agents]]
name = "reviewer"
command = "python3"
args = ["/tmp/tour/code/shop/tools/reviewer.py"]

[[agents]]
name = "translator"
command = "translator-acp"
sandbox = "restricted"
hosts = ["api.translator.example"]
"""
_PROJECT = """\
[execution]
approval = "always"
blocked_commands = ["git push", "lp"]

[[mcp.definitions]]
name = "parcels"
command = "python3"
args = ["tools/parcels_server.py"]
"""


def _write(folder: Path) -> None:
    (folder / "tools").mkdir()
    (folder / "tools" / "stock_server.py").write_text(_SERVER)
    (folder / "tools" / "parcels_server.py").write_text(_SERVER.replace('"stock"', '"parcels"'))
    (folder / "tools" / "reviewer.py").write_text(_AGENT)
    codex = Path.home() / ".local" / "bin" / "codex-acp"
    codex.parent.mkdir(parents=True, exist_ok=True)
    codex.write_text("#!/bin/sh\n")
    codex.chmod(0o755)
    (folder / ".desktop-agent").mkdir()
    (folder / ".desktop-agent" / "config.toml").write_text(_PROJECT)


async def _play(tour: Tourist) -> None:
    await tour.look_round()
    await tour.take("project-asks")
    tour.window.actions_.settings.trigger()
    dialog = await tour.see(SettingsDialog, "settingsDialog")
    dialog.show_section("project")
    await tour.take("settings-project", dialog)
    dialog.show_section("mcp")
    await tour.until(lambda: len(_buttons(dialog, "restartServerButton")) == 2, "both servers are listed")
    for button in _buttons(dialog, "restartServerButton"):
        button.click()
    await tour.until(lambda: bool(_buttons(dialog, "serverToolsButton")), "one server has answered")
    await tour.until(lambda: bool(_buttons(dialog, "serverLogButton")), "the other one could not be started")
    _buttons(dialog, "serverToolsButton")[0].click()
    await tour.take("settings-server", dialog)
    dialog.show_section("agents")
    await tour.until(lambda: len(_buttons(dialog, "testAgentButton")) == 2, "both agents that are here are listed")
    _buttons(dialog, "testAgentButton")[0].click()
    await tour.until(lambda: any("It works" in text for text in visible_texts(dialog)), "the agent has answered")
    await tour.take("settings-agents", dialog)
    dialog.show_section("project")
    await tour.user.click("trustProjectButton")
    await tour.until(lambda: any("You trust" in text for text in visible_texts(dialog)), "the project is trusted")
    await asyncio.to_thread(_change)
    dialog.show_section("mcp")
    await tour.until(lambda: len(_buttons(dialog, "restartServerButton")) == 3, "the project's server is listed, too")
    _buttons(dialog, "restartServerButton")[-1].click()
    await tour.until(lambda: any("not as you trusted" in text for text in visible_texts(dialog)), "it waits")
    await tour.take("settings-server-waits", dialog)
    await tour.close(dialog)


def _change() -> None:
    with Path("/tmp/tour/code/shop/tools/parcels_server.py").open("a") as script:  # where the camera puts the folder
        script.write("# changed\n")


def _buttons(dialog: SettingsDialog, name: str) -> list[QPushButton]:
    return [each for each in dialog.findChildren(QPushButton, name) if each.isVisible() and each.isEnabled()]


EXTENDED = Scene(
    states=("project-asks", "settings-project", "settings-server", "settings-agents", "settings-server-waits"),
    play=_play,
    prepare=_write,
    settings=_DEFINED,
)
