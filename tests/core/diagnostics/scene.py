"""A session in whose folder a language server of a trusted project checks `.bad` files."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from desktop_agent.core.extensions.language_servers import server_items
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Diagnostic, JsonObject, ModelRequest, ToolResultBlock, UserMessage
from desktop_agent.core.providers.scripted import Call, Reply, Say, Script
from desktop_agent.core.settings.sections import DiagnosticsSettings, Settings
from desktop_agent.core.settings.workspace_settings import ProjectTrust
from tests.harness import Ground, Open

WAIT = Call("run_terminal_cmd", {"command": "sleep 0.1"})
PATIENT = Settings(diagnostics=DiagnosticsSettings(wait_seconds=30.0))
SERVER = Path(__file__).with_name("scripted_server.py")


def no_secret(_path: Path, _status: os.stat_result) -> str:
    return ""


def create(path: str, content: str) -> Call:
    return Call("create_file", {"path": path, "content": content})


def edit(path: str, old: str, new: str) -> Call:
    return Call("edit_file", {"path": path, "old_str": old, "new_str": new})


def define(ground: Ground, mode: str, *args: str, **more: object) -> None:
    """Let the project define the scripted server for `.bad` files."""
    ground.write("server.py", SERVER.read_bytes())
    values: JsonObject = {
        "command": sys.executable,
        "args": ["server.py", mode, *args],
        "extensionToLanguage": {".bad": "bad"},
        **more,
    }
    ground.write(".lsp.json", json.dumps({"scripted": values}))


def trust(ground: Ground) -> None:
    items = tuple(server_items(ground.workspace, no_secret))
    assert items
    ProjectTrust(ground.paths.project_answers).remember_items(ground.workspace, "trusted", items)


def with_server(ground: Ground, mode: str, *args: str, **more: object) -> None:
    define(ground, mode, *args, **more)
    trust(ground)
    ground.settings = PATIENT


def told_in(request: ModelRequest) -> list[str]:
    """Return what the results so far say of files."""
    messages = [message for message in request.messages if isinstance(message, UserMessage)]
    results = [block.content for message in messages for block in message.content if isinstance(block, ToolResultBlock)]
    return [text.partition("[New in the changed files")[2] for text in results]


def until_told(first: Reply, *later: Reply) -> Script:
    """Make the first calls, wait until the model is told something, then make the others one by one."""
    remaining = [*later, [Say("Done.")]]
    is_begun = False

    def script(request: ModelRequest) -> Reply:
        nonlocal is_begun
        if not is_begun:
            is_begun = True
            return first
        return remaining.pop(0) if any(told_in(request)) else [WAIT]

    return script


def until(is_reached: Callable[[], bool], first: Reply, *later: Reply) -> Script:
    """Make the first calls, wait until something is true, then make the others one by one."""
    remaining = [*later, [Say("Done.")]]
    is_begun = False

    def script(_request: ModelRequest) -> Reply:
        nonlocal is_begun
        if not is_begun:
            is_begun = True
            return first
        return remaining.pop(0) if is_reached() else [WAIT]

    return script


def found(opened: Open) -> list[Diagnostic]:
    return [each for event in opened.rx.all(ev.DiagnosticsFound) for file in event.files for each in file.found]


def log_of(ground: Ground) -> str:
    path = ground.paths.logs / "language-servers" / "scripted.log"
    return path.read_text() if path.exists() else ""
