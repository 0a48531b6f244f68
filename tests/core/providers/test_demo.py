"""The demo as a user tries it: a real session on the bundled project, with every refusal."""

import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Allowed,
    AssistantBlock,
    Decision,
    Denied,
    ModelRef,
    TextBlock,
    ToolUseBlock,
)
from desktop_agent.core.providers.demo import DEMO_FOLLOW_UP, DEMO_PROMPT, demo_provider
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.tools.access import CallRules
from tests.harness import Ground, Open

PAGES = "pagination/pages.py"
BROKEN = "    pages = total // size\n    return pages\n"
FIXED = "    return -(-total // size)\n"


@pytest.fixture
def project(ground: Ground) -> Ground:
    copy_project(ground.workspace)
    return ground


def copy_project(folder: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(resource_path("demo", "pagination"), folder, ignore=ignored, dirs_exist_ok=True)


@asynccontextmanager
async def demo(ground: Ground, **limits: Any) -> AsyncGenerator[Open]:

    async def only(_model: ModelRef) -> Provider:
        return demo_provider(is_paced=False)

    async with ground.session((), provider_source=only, **limits) as s:
        yield s


async def play(s: Open, answer: Callable[[ev.ApprovalRequested], Decision], prompt: str = DEMO_PROMPT) -> ev.TurnEnded:
    s.submit(ops.SubmitPrompt(text=prompt))
    while True:
        event = await s.rx.expect((ev.ApprovalRequested, ev.TurnEnded))
        if isinstance(event, ev.TurnEnded):
            return event
        s.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=answer(event)))


def yes(_asked: ev.ApprovalRequested) -> Decision:
    return Allowed()


def no_to(tool: str) -> Callable[[ev.ApprovalRequested], Decision]:
    return lambda asked: Denied() if asked.request.tool == tool else Allowed()


def messages(s: Open) -> list[tuple[AssistantBlock, ...]]:
    return [event.content for event in s.rx.all(ev.MessageDone)]


def calls(s: Open) -> list[str]:
    return [block.name for content in messages(s) for block in content if isinstance(block, ToolUseBlock)]


def last_words(s: Open) -> str:
    return "".join(block.text for block in messages(s)[-1] if isinstance(block, TextBlock))


def is_green(folder: Path) -> bool:
    command = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests", "-t", "."]
    return not subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode  # noqa: TID251 - a test


async def test_the_whole_demo_repairs_the_project_and_extends_it(project: Ground) -> None:
    async with demo(project) as s:
        ended = await play(s, yes)
        assert ended.reason == "completed"
        assert calls(s) == [
            *("list_files", "read_file", "read_file"),
            *("run_terminal_cmd", "edit_file", "run_terminal_cmd"),
        ]
        assert FIXED in project.read(PAGES)
        assert "All **5** tests pass." in last_words(s)
        assert is_green(project.workspace)

        ended = await play(s, yes, DEMO_FOLLOW_UP)
        assert ended.reason == "completed"
        assert "All **7** tests pass." in last_words(s)
        changed = {(record.change.path, record.change.author) for record in s.session.transcript.changed.active()}
        assert changed == {(PAGES, "agent"), ("tests/test_edge.py", "agent"), ("CHANGELOG.md", "shell")}
        assert is_green(project.workspace)

        await play(s, yes, "And now?")
        assert "That is all this demo knows" in last_words(s)


async def test_an_undone_fix_is_made_again(project: Ground) -> None:
    async with demo(project) as s:
        await play(s, yes)
        project.write(PAGES, project.read(PAGES).replace(FIXED, BROKEN))
        await play(s, yes, "Once more")
    assert FIXED in project.read(PAGES)


async def test_a_denied_edit_is_shown_as_words_and_not_tried_again(project: Ground) -> None:
    before = project.read(PAGES)
    async with demo(project) as s:
        ended = await play(s, no_to("edit_file"))
        assert ended.reason == "completed"
        assert calls(s).count("edit_file") == 1
        assert "I leave the file as it is" in last_words(s)
        assert "```diff" in last_words(s)
    assert project.read(PAGES) == before


async def test_without_running_anything_it_fixes_and_says_that_nothing_was_checked(project: Ground) -> None:
    async with demo(project) as s:
        ended = await play(s, no_to("run_terminal_cmd"))
        assert ended.reason == "completed"
        assert "I won't run anything then." in str(messages(s))
        assert "not checked" in last_words(s)
        assert "tests pass" not in last_words(s)
    assert FIXED in project.read(PAGES)


async def test_a_line_of_the_person_is_kept_and_the_fix_made_around_it(project: Ground) -> None:
    mine = "\n\n# The user was here.\n"

    def answer(asked: ev.ApprovalRequested) -> Decision:
        if (
            asked.request.tool == "run_terminal_cmd"
            and BROKEN in project.read(PAGES)
            and mine not in project.read(PAGES)
        ):
            project.write(PAGES, project.read(PAGES) + mine)  # after it was read, before it is edited
        return Allowed()

    async with demo(project) as s:
        assert (await play(s, answer)).reason == "completed"
        assert calls(s).count("edit_file") == 2
        assert "All **5** tests pass." in last_words(s)
    assert FIXED in project.read(PAGES)
    assert project.read(PAGES).endswith(mine)


async def test_lines_that_the_person_has_fixed_meanwhile_are_left_alone(project: Ground) -> None:
    fixed_by_person = "    return (total + size - 1) // size\n"

    def answer(asked: ev.ApprovalRequested) -> Decision:
        if asked.request.tool == "run_terminal_cmd":
            project.write(PAGES, project.read(PAGES).replace(BROKEN, fixed_by_person))
        return Allowed()

    async with demo(project) as s:
        assert (await play(s, answer)).reason == "completed"
        assert "you have changed them" in last_words(s)
    assert fixed_by_person in project.read(PAGES)


async def test_a_file_that_changes_under_every_edit_ends_the_attempts(project: Ground) -> None:
    def answer(asked: ev.ApprovalRequested) -> Decision:
        if asked.request.tool == "edit_file":
            project.write(PAGES, project.read(PAGES) + "# again\n")
        elif "# again" not in project.read(PAGES):
            project.write(PAGES, project.read(PAGES) + "# before\n")
        return Allowed()

    async with demo(project) as s:
        assert (await play(s, answer)).reason == "completed"
        assert calls(s).count("edit_file") == 2
        assert "I leave it as it is" in last_words(s)
    assert BROKEN in project.read(PAGES)


async def test_in_another_project_it_says_that_it_only_knows_its_own(ground: Ground) -> None:
    ground.write("main.py", "print('hello')\n")
    async with demo(ground) as s:
        assert (await play(s, yes)).reason == "completed"
        assert s.rx.all(ev.ApprovalRequested) == []
        assert "only knows its own small project" in last_words(s)
        failed = [event.result.error_type for event in s.rx.all(ev.ToolCallFinished) if event.state == "failed"]
        assert failed == ["not_found", "not_found"]


async def test_tests_that_still_fail_are_reported_as_failing(project: Ground) -> None:
    project.write(
        "tests/test_other.py",
        "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_x(self):\n        self.fail()\n",
    )
    async with demo(project) as s:
        await play(s, yes)
        assert "still fail" in last_words(s)
        assert "tests pass" not in last_words(s)


@pytest.mark.parametrize(
    "limits",
    [
        {"rules": CallRules(blocked_tools=("run_terminal_cmd",))},
        {"rules": CallRules(is_dry_run=True)},
        {"sandbox": "none", "approval": "never"},
    ],
)
async def test_it_claims_nothing_of_tests_that_were_not_run(project: Ground, limits: dict[str, Any]) -> None:
    async with demo(project, **limits) as s:
        assert (await play(s, yes)).reason == "completed"
        said = str(messages(s))
        for claim in ("Reproduced", "still fail", "tests pass", "can't find", "no longer what I read"):
            assert claim not in said
        assert "Nothing was run" in last_words(s) or "**not checked**" in last_words(s)


async def test_it_says_why_an_edit_did_not_happen(project: Ground) -> None:
    async with demo(project, rules=CallRules(blocked_tools=("edit_file",))) as s:
        await play(s, yes)
        assert calls(s).count("edit_file") == 1
        assert "is no longer what I read" not in str(messages(s))
        assert "not permitted in this session" in last_words(s)
