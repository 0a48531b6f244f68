"""An agent of another program takes the turns of the library's agent."""

from pathlib import Path

import pytest

from desktop_agent import Agent, UsageError
from desktop_agent.core.system.processes.shell import joined_words
from tests.api.conftest import read
from tests.cli.test_agents import scripted


async def test_an_agent_of_another_program_works_and_its_changes_are_undone(poem: Path, tmp_path: Path) -> None:
    before = read(poem)
    steps = [
        {"write": ["poem.txt", "Nothing.\n"]},
        {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Written."}}},
    ]
    line = joined_words(scripted(tmp_path / "script.json", prompts=[steps]))

    async with Agent(poem.parent, agent=line, home=tmp_path / "home") as agent:
        result = await agent.run("Write.")
        assert (result.text, result.edited_files) == ("Written.", ("poem.txt",))
        await agent.changes.undo()

    assert read(poem) == before


async def test_an_agent_goes_with_no_model_and_must_exist(poem: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one of them"):
        Agent(poem.parent, agent="claude", model="demo", home=tmp_path / "home")
    with pytest.raises(UsageError, match="There is no agent named none"):
        async with Agent(poem.parent, agent="none", home=tmp_path / "home"):
            pass
