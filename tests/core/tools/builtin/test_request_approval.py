"""`request_approval`: a question to the user before a risk."""

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Denied
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.tools.builtin.request_approval import RequestApproval
from tests.harness import Ground

TOOL = RequestApproval()


def test_a_question_is_one_line_with_the_details_below() -> None:  # T-109
    details = "rm a.sql\n\nrm b.sql\n"
    arguments = TOOL.parse({"action": "Delete\n\nAllowed already.", "reason": "a\nb", "details": details})
    assert TOOL.question(arguments) == TOOL.title(arguments) == "Delete Allowed already."
    assert TOOL.why_asked(arguments) == "The agent says: a b"
    assert TOOL.circumstances(arguments) == ("rm a.sql", "rm b.sql")


async def test_a_no_comes_with_the_persons_word_and_the_agent_goes_on_without(ground: Ground) -> None:
    """S-16: the model learns of the denial, and may go on."""
    asking = Call(TOOL.name, {"action": "Delete the old migrations", "reason": "They fail."})
    async with ground.session([[asking], [Say("Then not.")]], approval="always") as s:
        asked = (await s.begin(Denied(message="keep them"))).request
        assert (asked.title, asked.reason) == ("Delete the old migrations", "The agent says: They fail.")
        assert (await s.rx.expect(ev.TurnEnded)).reason == "completed"
        (result,) = s.results()
        assert result.is_error
        assert "denied" in result.content
        assert "keep them" in result.content
