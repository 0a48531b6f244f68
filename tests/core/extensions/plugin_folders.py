"""Plugins of a test: small folders in the forms that people publish."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

SKILL = "---\nname: review\ndescription: Reviews code\n---\nRead ${CLAUDE_PLUGIN_ROOT}/notes.md.\n"
COMMAND = "---\ndescription: Commits\n---\nCommit $ARGUMENTS.\n"
AGENT = "---\nname: helper\ndescription: Helps\ntools: Read\n---\nYou help.\n"
SCRIPT = "#!/bin/sh\ntouch ran\n"
HOOKS = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": '"${CLAUDE_PLUGIN_ROOT}"/check.sh'}]}]}}
SERVERS = {"mcpServers": {"notes": {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}}}


def put(folder: Path, files: Mapping[str, object]) -> Path:
    """Write files, given by their paths with `/`; what is no text is JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
    return folder


def claude_plugin(folder: Path, files: Mapping[str, object] = MappingProxyType({}), *, name: str = "demo") -> Path:
    """Write a plugin in Claude Code's form that brings one of everything."""
    manifest = {"name": name, "version": "1.0", "description": "A demo"}
    usual: dict[str, object] = {
        ".claude-plugin/plugin.json": manifest, "skills/review/SKILL.md": SKILL, "commands/git/commit.md": COMMAND,
        "agents/helper.md": AGENT, "hooks/hooks.json": HOOKS, ".mcp.json": SERVERS, "check.sh": SCRIPT,
    }  # fmt: skip
    return put(folder, {**usual, **files})


def agent_plugin(folder: Path, files: Mapping[str, object] = MappingProxyType({}), *, name: str = "demo") -> Path:
    """Write a plugin in the form of Agent Plugins 1.0.0."""
    schema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
    server = {"type": "stdio", "command": "./server.sh", "args": ["${PLUGIN_DATA}/x"]}
    usual: dict[str, object] = {
        "plugin.json": {"$schema": schema, "name": name, "version": "1.0"}, "skills/review/SKILL.md": SKILL,
        "mcp.json": {"mcpServers": {"notes": server}},
        "server.sh": SCRIPT,
    }  # fmt: skip
    return put(folder, {**usual, **files})
