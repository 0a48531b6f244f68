"""`request_approval`: a word from the user before a risk; the gate asks, and answers a no."""

import json
from typing import Any

from desktop_agent.core.protocol.model import Denied
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.tools.builtin.request_approval import RequestApproval
from tests.harness import Ground

TOOL = RequestApproval()
ARGUMENTS = {"action": "Delete the old migrations", "reason": "They fail.", "details": "rm a.sql\n\nrm b.sql\n"}


def asking() -> Call:
    return Call(TOOL.name, dict[str, object](ARGUMENTS))


def test_the_person_is_asked_what_the_agent_wants() -> None:
    """T-109, Z-27: the tool exists, and it has a question of its own whatever the policy says of the rest."""
    arguments = TOOL.parse(dict[str, object](ARGUMENTS))
    assert TOOL.question(arguments) == "Delete the old migrations"
    assert TOOL.why_asked(arguments) == "The agent says: They fail."
    assert TOOL.circumstances(arguments) == ("rm a.sql", "rm b.sql")
    assert TOOL.title(arguments) == "Delete the old migrations"
    assert TOOL.capabilities == ()


def test_a_question_is_one_line() -> None:
    """What is asked cannot pretend to be more than a question."""
    arguments = TOOL.parse({"action": "Delete\n\nAllowed already.", "reason": "a\nb"})
    assert TOOL.question(arguments) == "Delete Allowed already."
    assert TOOL.why_asked(arguments) == "The agent says: a b"


async def test_a_yes_is_reported(ground: Ground) -> None:
    """T-109."""
    async with ground.session([[asking()], [Say("ok")]], approval="always") as s:
        s.submit(_prompt())
        await s.answer()
        await _end(s)
        (result,) = s.results()
        assert json.loads(result.content) == {"approved": True, "action": "Delete the old migrations"}
        assert not result.is_error


async def test_a_no_comes_with_the_persons_word_and_the_agent_goes_on_without(ground: Ground) -> None:
    """S-16: the agent reads that it was denied, and may do something else."""
    async with ground.session([[asking()], [Say("Then not.")]], approval="always") as s:
        s.submit(_prompt())
        await s.answer(Denied(message="keep them"))
        ended = await _end(s)
        (result,) = s.results()
        assert result.is_error
        assert "denied" in result.content
        assert "keep them" in result.content
        assert ended.reason == "completed"


def _prompt() -> Any:
    from desktop_agent.core.protocol import ops

    return ops.SubmitPrompt(text="go")


async def _end(session: Any) -> Any:
    from desktop_agent.core.protocol import events as ev

    return await session.rx.expect(ev.TurnEnded)
