"""Known agents are found where people install them, and nothing is started."""

import os
import re
from pathlib import Path

import pytest

from desktop_agent.core.agents.installed import KNOWN_AGENTS, FoundProgram, KnownAgent, find_agent, known_agent, locate
from tests.core.agents.test_definition import program


def agent(name: str) -> KnownAgent:
    found = known_agent(name)
    assert found is not None
    return found


@pytest.mark.parametrize("known", KNOWN_AGENTS, ids=lambda known: known.name)
def test_each_is_found_on_path_by_each_of_its_programs(known: KnownAgent, tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    assert find_agent(known, environ) is None
    for name in reversed(known.programs):
        program(tmp_path / "bin" / name)
        assert find_agent(known, environ) == name
        assert locate(name, environ) == FoundProgram(name, {})
    assert re.fullmatch(r"Install it with `\S+ .+`\.", known.needs)


@pytest.mark.parametrize(
    "place", [".npm-global/bin", ".local/bin", ".volta/bin", ".nvm/versions/node/v22.1.0/bin", "prefix/bin", "env/bin"]
)
def test_those_of_npm_are_found_off_path_with_the_folder_where_node_is_looked_for(place: str, tmp_path: Path) -> None:
    program(tmp_path / place / "claude-agent-acp")
    (tmp_path / ".npmrc").write_text("registry=https://x\nprefix = ${HOME}/prefix\n")
    environ = {"PATH": "/nowhere", "HOME": str(tmp_path), "npm_config_prefix": str(tmp_path / "env")}

    name = find_agent(agent("claude"), environ)

    assert name == "claude-agent-acp"
    path = f"{tmp_path / place}{os.pathsep}/nowhere"
    assert locate(name, environ) == FoundProgram(str(tmp_path / place / name), {"PATH": path})


def test_the_newest_node_goes_first_and_odd_files_do_no_harm(tmp_path: Path) -> None:
    for version in ("v9.11.2", "v22.1.0", "v20.0.0"):
        program(tmp_path / ".nvm/versions/node" / version / "bin" / "gemini")
    os.mkfifo(tmp_path / ".npmrc")

    found = locate("gemini", {"PATH": "/nowhere", "HOME": str(tmp_path)})

    assert found is not None
    assert "v22.1.0" in found.program
