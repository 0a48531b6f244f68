"""Agents from Zed's settings and from files of the registry: what they say is taken, what is wrong is named."""

import json
import os
import platform
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.agents.definition import AgentDefinition
from desktop_agent.core.agents.new_agents import agent_of_registry, agents_of_zed, without_comments, zed_settings
from desktop_agent.core.base.errors import UsageError

ZED = r"""// Zed settings
{
  "theme": "One // not a comment, \" /* neither */",  /* but
     this is one */
  "agent_servers": {
    "My Agent": {"type": "custom", "command": "node", "args": ["~/a.js", "--acp",], "env": {"A": "b,]"}},
    "plan first": {"command": "/opt/agent", "default_mode": "plan", "default_model": "x"},
    "claude-acp": {"type": "registry", "env": {}},
    "other": {"type": "registry"},
    "broken": {"command": 3},
  },
}
"""


def written(path: Path, document: object) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_the_agents_that_zed_starts_by_a_command_are_taken_over(tmp_path: Path) -> None:
    agents, problems = agents_of_zed(written(tmp_path / "settings.json", ZED))

    assert agents == (
        AgentDefinition(name="My-Agent", command="node", args=("~/a.js", "--acp"), env={"A": "b,]"}),
        AgentDefinition(name="plan-first", command="/opt/agent", mode="plan"),
    )
    assert [name for name, _ in problems] == ["claude-acp", "other", "broken"]
    assert problems[0][1].endswith("`npm install -g @agentclientprotocol/claude-agent-acp` installs it for all")
    assert "--from" in problems[1][1]


def test_zeds_settings_are_where_zed_keeps_them(tmp_path: Path) -> None:
    assert zed_settings({"HOME": "/home/me"}) == Path("/home/me/.config/zed/settings.json")
    if sys.platform.startswith("linux"):
        assert zed_settings({"HOME": "/home/me", "XDG_CONFIG_HOME": "/c"}) == Path("/c/zed/settings.json")


REGISTRY = {
    "version": "1.0.0",
    "agents": [
        {
            "id": "claude-acp",
            "distribution": {"npx": {"package": "@a/c@1.2", "args": ["--x"], "env": {"B": "c"}}},
        },
        {"id": "vibe", "distribution": {"uvx": {"package": "mistral-vibe==3.0.3", "args": ["vibe-acp"]}}},
        {
            "id": "codex-acp",
            "distribution": {
                "binary": {
                    "linux-x86_64": {"archive": "https://x.example/l.tar.gz", "cmd": "./bin/codex-acp", "args": ["-q"]},
                    "windows-x86_64": {"archive": "https://x.example/w.zip", "cmd": ".\\codex-acp.exe"},
                }
            },
        },
        {"id": "odd", "distribution": {"docker": {"image": "x"}}},
        {"id": "evil", "distribution": {"npx": {"package": "x", "args": "a b", "env": {"A=B": "c"}}}},
    ],
}


def test_the_ways_of_the_registry_become_command_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "registry.json", REGISTRY)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")

    assert agent_of_registry(path, "claude-acp") == (
        AgentDefinition(name="claude-acp", command="npx", args=("-y", "@a/c@1.2", "--x"), env={"B": "c"}),
        "",
    )
    assert agent_of_registry(path, "vibe")[0].where == "uvx mistral-vibe==3.0.3 vibe-acp"
    assert agent_of_registry(path, "codex-acp") == (
        AgentDefinition(name="codex-acp", command="codex-acp", args=("-q",)),
        "https://x.example/l.tar.gz",
    )
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    with pytest.raises(UsageError, match="not offered for linux-aarch64, only for linux-x86_64, windows-x86_64"):
        agent_of_registry(path, "codex-acp")
    for name in ("odd", "evil"):
        with pytest.raises(UsageError, match="cannot be added"):
            agent_of_registry(path, name)


def test_which_agent_is_meant_is_asked_for_unless_there_is_one(tmp_path: Path) -> None:
    path = written(tmp_path / "registry.json", REGISTRY)
    with pytest.raises(UsageError, match="has 5 agents: name one") as caught:
        agent_of_registry(path, "")
    assert "Available: claude-acp, vibe, codex-acp" in caught.value.hint
    with pytest.raises(UsageError, match="has no agent 'x'"):
        agent_of_registry(path, "x")
    alone = written(tmp_path / "agent.json", REGISTRY["agents"][0])
    assert agent_of_registry(alone, "")[0].name == "claude-acp"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"agents": {}}', '{"agents": [3]}', '{"agent_servers": []}', "{", "[" * 100_000, '{"agents": ["'],
)
def test_a_file_without_agents_says_so(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "file.json", text)
    for read in (lambda: agent_of_registry(path, ""), lambda: agents_of_zed(path)):
        with pytest.raises(UsageError):
            read()


def test_what_is_no_file_is_no_file_of_agents(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "missing", tmp_path, tmp_path / "pipe"):
        with pytest.raises(UsageError):
            agents_of_zed(path)


TEXTS = st.text(st.sampled_from('ab/*"\\,]} \n'))
JSON = st.recursive(TEXTS | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8)


@given(JSON)
def test_no_text_is_taken_for_a_comment(document: object) -> None:
    text = json.dumps({"x": document}, indent=1)
    for written_so in (text, text.replace("\n", ' // "a" comment,\n'), text.replace("\n", "/* [ */\n")):
        assert json.loads(without_comments(written_so)) == {"x": document}
