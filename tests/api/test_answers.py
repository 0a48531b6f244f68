"""The approval callback: all its answers and failures."""

import asyncio
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from desktop_agent import (
    Allowed,
    AppPaths,
    ApprovalRequest,
    Approver,
    Denied,
    Rule,
    RulesFile,
    Say,
    events,
    repository_mark,
)
from tests.api.conftest import COMMAND, EDIT, POEM, MakeAgent, read


async def test_a_call_that_is_allowed_is_carried_out(agent_with: MakeAgent, poem: Path) -> None:
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    async with agent_with([EDIT], [Say("Done.")], approve=approve) as agent:
        result = await agent.run("Edit.")
    assert [change.path for request in asked for change in request.changes] == ["poem.txt"]
    assert result.edited_files == ("poem.txt",)
    assert read(poem) != POEM


def _never(_: ApprovalRequest) -> bool:
    return False


async def _no(_: ApprovalRequest) -> Denied:
    await asyncio.sleep(0)
    return Denied(message="Not today.")


@pytest.mark.parametrize("approve", [None, _never, _no], ids=["no callback", "False", "async Denied"])
async def test_a_call_that_is_not_allowed_is_denied_and_the_turn_goes_on(
    agent_with: MakeAgent, poem: Path, approve: Approver | None
) -> None:
    async with agent_with([EDIT], [Say("Then not.")], approve=approve) as agent:
        result = await agent.run("Edit.")
    assert (result.reason, result.text, result.changes) == ("completed", "Then not.", ())
    assert [call.result.is_error for call in result.calls] == [True]
    assert read(poem) == POEM


async def test_a_command_is_run_as_the_callback_edits_it(agent_with: MakeAgent, poem: Path) -> None:
    def approve(request: ApprovalRequest) -> Allowed:
        assert request.command == "touch made.txt"
        return Allowed(edited_command="touch other.txt")

    async with agent_with([COMMAND], [Say("Done.")], approve=approve, approval="always") as agent:
        result = await agent.run("Make a file.")
    assert result.edited_files == ("other.txt",)
    assert not (poem.parent / "made.txt").exists()


async def test_an_async_callback_may_take_its_time(agent_with: MakeAgent, poem: Path) -> None:
    answer: asyncio.Future[Allowed] = asyncio.get_running_loop().create_future()

    async def approve(_: ApprovalRequest) -> Allowed:
        return await answer

    async with agent_with([EDIT], [Say("Done.")], approve=approve) as agent:
        async for event in agent.stream("Edit."):
            if isinstance(event, events.ApprovalRequested):
                assert read(poem) == POEM
                answer.set_result(Allowed())
    assert read(poem) != POEM


@pytest.mark.parametrize("fault", [RuntimeError("the console is gone"), None], ids=["raises", "returns nonsense"])
async def test_a_callback_that_fails_approves_nothing_and_the_run_raises_its_error(
    agent_with: MakeAgent, poem: Path, fault: Exception | None
) -> None:
    def approve(_: ApprovalRequest) -> object:
        if fault is not None:
            raise fault
        return "yes"

    kind, words = (RuntimeError, "the console is gone") if fault else (TypeError, "not 'yes'")
    async with agent_with([EDIT], [Say("Still here.")], approve=approve) as agent:
        with pytest.raises(kind, match=words):
            await agent.run("Edit.")
        assert read(poem) == POEM
        assert (await agent.run("And now?")).text == "Still here."


async def test_a_program_makes_a_rule_that_lets_a_command_out_of_the_sandbox_in_one_repository(
    agent_with: MakeAgent, poem: Path, tmp_path: Path
) -> None:
    await asyncio.to_thread(subprocess.check_call, ["git", "init", "-q"], cwd=poem.parent)
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return False

    def lasting_rule(folder: Path) -> Rule:
        place = repository_mark("touch made.txt", folder, os.environ)
        return Rule(
            id=f"r-{folder.name}", effect="allow", kind="command", pattern="touch made.txt", scope="always",
            created_at=datetime(2026, 11, 28, tzinfo=UTC), is_unconfined=True,
            repository=place.path, repository_mark=place.mark,
        )  # fmt: skip

    rules = RulesFile(AppPaths.from_environment({"DESKTOP_AGENT_HOME": str(tmp_path / "home")}).config / "rules.toml")
    replies = [[COMMAND], [Say("Done.")]] * 2
    async with agent_with(*replies, approve=approve, sandbox="none") as agent:
        rules.add(lasting_rule(tmp_path))
        await agent.run("Make a file.")
        assert len(asked) == 1, "made in another folder"
        rules.add(lasting_rule(poem.parent))
        await agent.run("Make a file.")
    assert len(asked) == 1
    assert (poem.parent / "made.txt").exists()
