"""The questions and prompts of the reference server of everything, in whole turns."""

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.forms import mistake_in_answers
from desktop_agent.core.protocol.model import Allowed, Answer, Denied
from desktop_agent.core.providers.scripted import Call, Say
from tests.e2e.servers.test_npm_servers import with_everything
from tests.harness import Ground


async def test_a_form_with_every_kind_of_field_comes_with_its_defaults_and_is_answered(ground: Ground) -> None:
    with_everything(ground)

    async with ground.session([[Call("everything__trigger-elicitation-request", {})], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        asked = (await s.rx.expect(ev.ApprovalRequested)).request
        question = asked.question
        assert question is not None
        answers: dict[str, Answer] = {
            field.name: field.default for field in question.fields if field.default is not None
        }
        assert mistake_in_answers(question, answers) == "String: This is needed."
        s.submit(ops.AnswerApproval(call_id=asked.call_id, decision=Allowed(answers=answers | {"name": "Ada"})))
        result = (await s.rx.expect(ev.ToolCallFinished)).result.content
        await s.rx.expect(ev.TurnEnded)

    assert {field.kind for field in question.fields} == {"text", "boolean", "integer", "number", "choice", "choices"}
    legacy = question.fields[-1]
    assert (legacy.options[0].value, legacy.options[0].label) == ("pet-1", "Cats")
    assert "- Name: Ada" in result
    assert "It was a dark and stormy night." in result


async def test_a_page_is_asked_about_and_a_no_reaches_the_server(ground: Ground) -> None:
    with_everything(ground)
    url = "https://example.org/consent"

    async with ground.session([[Call("everything__trigger-url-elicitation", {"url": url})], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        asked = await s.answer(Denied())
        result = (await s.rx.expect(ev.ToolCallFinished)).result.content
        await s.rx.expect(ev.TurnEnded)

    assert asked.request.question is not None
    assert asked.request.question.address == url
    assert "declined" in result.lower()


async def test_a_call_that_needs_a_page_visited_first_goes_on_when_it_was(ground: Ground) -> None:
    with_everything(ground)
    arguments: dict[str, object] = {"url": "https://example.org/consent", "errorPath": True, "elicitationId": "one"}

    async with ground.session([[Call("everything__trigger-url-elicitation", arguments)], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        first, second = (await s.answer()).request.question, (await s.answer()).request.question
        result = (await s.rx.expect(ev.ToolCallFinished)).result
        await s.rx.expect(ev.TurnEnded)

    assert first is not None
    assert second is not None
    assert (first.address, second.address) == ("https://modelcontextprotocol.io", "https://example.org/consent")
    assert not result.is_error


async def test_a_prompt_of_the_server_is_sent_with_its_arguments(ground: Ground) -> None:
    with_everything(ground)

    async with ground.session([[Say("ok")]]) as s:
        s.submit(ops.RunCommand(text="/everything:args-prompt Paris state=Texas"))
        submitted = await s.rx.expect(ev.PromptSubmitted)
        await s.rx.expect(ev.TurnEnded)

    assert submitted.text == "What's weather in Paris, Texas?"


async def test_what_the_server_asks_the_model_is_allowed_and_its_answer_comes_back(ground: Ground) -> None:
    with_everything(ground)
    call = Call("everything__trigger-sampling-request", {"prompt": "Name a colour.", "maxTokens": 30})

    async with ground.session([[call], [Say("Red.")], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        asked = (await s.answer()).request.question
        result = (await s.rx.expect(ev.ToolCallFinished)).result.content
        await s.rx.expect(ev.TurnEnded)

    assert asked is not None
    assert asked.sampling is not None
    assert asked.sampling.max_tokens == 30
    assert "Name a colour." in asked.sampling.texts[-1].text
    assert "Red." in result
