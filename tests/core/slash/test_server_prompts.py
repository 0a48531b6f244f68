"""Prompts of servers as commands: found, filled in, sent as the user's prompt. On real processes."""

from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Say
from tests.core.tools.servers.test_server_calls import PatientClock, program, with_servers
from tests.harness import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path)
    ground.clock = PatientClock()
    with_servers(ground, program("prompts"))
    return ground


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("/program:review-code src/app.py", "Review {'path': 'src/app.py'}"),
        ("/PROGRAM:Review-Code a.py names and types", "Review {'path': 'a.py', 'focus': 'names and types'}"),
        ("/program:review-code focus=tests 'b c.py'", "Review {'focus': 'tests', 'path': 'b c.py'}"),
    ],
)
async def test_a_prompt_of_a_server_that_does_not_run_yet_is_sent_as_the_users(
    ground: Ground, written: str, sent: str
) -> None:
    async with ground.session([[Say("ok")]]) as s:
        s.submit(ops.RunCommand(text=written))
        submitted = await s.rx.expect(ev.PromptSubmitted)
        await s.rx.expect(ev.TurnEnded)

    assert submitted.text == sent


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("/program:review-code", "path is missing. It is written `/program:review-code PATH [FOCUS]`."),
        ("/program:review-cod x", "There is no command `/program:review-cod`. Did you mean `/program:review-code`?"),
        ("/other:review-code x", "There is no command `/other:review-code`."),
    ],
)
async def test_what_cannot_be_sent_says_why_and_starts_no_turn(ground: Ground, written: str, said: str) -> None:
    async with ground.session([[Say("ok")]]) as s:
        s.submit(ops.RunCommand(text=written))
        ran = await s.rx.expect(ev.CommandRun)

    assert ran.is_error
    assert ran.output.startswith(said)
    assert not s.rx.all(ev.TurnStarted)


async def test_a_server_that_cannot_start_says_why_instead_of_its_prompt(ground: Ground) -> None:
    with_servers(ground, 'name = "gone"\ncommand = "no-such-program"')

    async with ground.session([[Say("ok")]]) as s:
        s.submit(ops.RunCommand(text="/gone:anything"))
        ran = await s.rx.expect(ev.CommandRun)

    assert ran.is_error
    assert "There is no program 'no-such-program'" in ran.output


async def test_they_are_listed_once_the_server_is_known(ground: Ground) -> None:
    async with ground.session([[Say("ok")]]) as s:
        await s.prompt()
        s.submit(ops.RunCommand(text="/help"))
        listed = (await s.rx.expect(ev.CommandRun)).output

    assert "`/program:review-code PATH [FOCUS]` (of a server): `Look it over⟨U+202E⟩`" in listed
