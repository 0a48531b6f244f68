"""A conversation that changes its model says once what the new one does not get, and loses nothing."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.catalogue import MODELS_NAME, FetchedList, ListCache
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import JsonObject, ModelRef, ToolResultBlock, UserMessage
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Reply, Say, ScriptedProvider, Think, in_order
from tests.harness import Ground, Open, check_conversation
from tests.pictures import png
from tests.providers import keyed_provider
from tests.servers import fault
from tests.servers.dialects.chat import CHAT
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text

CLAUDE = ModelRef(provider="anthropic", model="claude-sonnet-5-5")
OPUS = ModelRef(provider="anthropic", model="claude-opus-5-5")
GPT = ModelRef(provider="openai", model="gpt-6-astra")
LOOK: Reply = [Call("view_image", {"path": "a.png"})]


@asynccontextmanager
async def session(ground: Ground, *replies: Reply) -> AsyncGenerator[Open]:
    provider = ScriptedProvider(in_order(replies))

    async def source(_model: ModelRef) -> Provider:
        return provider

    async with ground.session([], provider_source=source) as s:
        s.provider = provider
        yield s


async def ask(s: Open, model: ModelRef) -> list[ev.Notice]:
    before = len(s.rx.all(ev.Notice))
    s.submit(ops.SetMode(model=model))
    assert (await s.prompt()).reason == "completed"
    return s.rx.all(ev.Notice)[before:]


def list_models(ground: Ground, model: ModelRef, *, takes_images: bool | None) -> None:
    listed = FetchedList(
        fetched_at=ground.clock.now(), models=(ListedModel(name=model.model, takes_images=takes_images),)
    )
    ListCache(ground.paths.cache / MODELS_NAME).write(usual_account(model.provider), listed)


def pictures(s: Open) -> list[int]:
    messages = (message for message in s.last_request.messages if isinstance(message, UserMessage))
    return [len(block.images) for m in messages for block in m.content if isinstance(block, ToolResultBlock)]


async def test_thinking_that_stays_behind_is_named_once(ground: Ground) -> None:
    async with session(ground, [Think("Hm."), Say("One.")], [Say("Two.")], [Say("Three.")]) as s:
        assert await ask(s, CLAUDE) == []
        (notice,) = await ask(s, GPT)
        assert (notice.code, notice.level, notice.turn) == ("switched", "info", 2)
        assert notice.title == "gpt-6-astra answers from here on. It does not get all of the conversation."
        assert "the earlier thinking of claude-sonnet-5-5" in notice.hint
        assert await ask(s, GPT) == []
        check_conversation(s.last_request)


async def test_a_level_of_effort_that_the_model_does_not_know_is_named_once(ground: Ground) -> None:
    listed = FetchedList(
        fetched_at=ground.clock.now(),
        models=(ListedModel(name=GPT.model, efforts=("low", "high")), ListedModel(name="gpt-plain", efforts=())),
    )
    ListCache(ground.paths.cache / MODELS_NAME).write(usual_account("openai"), listed)
    extreme = replace(GPT, effort="extreme")
    async with session(ground, *[[Say("Hello.")]] * 5) as s:
        (notice,) = await ask(s, extreme)
        assert (notice.code, notice.level, notice.turn) == ("unknown_effort", "warning", 1)
        assert notice.title == "gpt-6-astra does not support the effort 'extreme', so it uses its default."
        assert notice.hint.startswith("It knows low, high. Choose another")
        assert await ask(s, extreme) == []
        assert await ask(s, replace(GPT, effort="high")) == []
        (notice,) = await ask(s, ModelRef(provider="openai", model="gpt-plain", effort="high"))
        assert notice.hint.startswith("It takes no level.")
        assert await ask(s, CLAUDE) == []


async def test_a_level_of_effort_that_is_refused_is_named_once(ground: Ground) -> None:
    error: JsonObject = {"message": "No.", "type": "invalid_request_error", "param": "reasoning_effort"}
    refused = fault.exactly(400, {"error": error})
    async with ModelServer(refused, *[reply(text("Hello."))] * 3, key="key", dialect=CHAT) as server:

        async def source(_model: ModelRef) -> Provider:
            return keyed_provider("openai-chat", "key", address=server.url)

        model = ModelRef(provider="openai-chat", model="gpt-plain", effort="high")
        async with ground.session([], provider_source=source) as s:
            (notice,) = await ask(s, model)
            assert (notice.code, notice.level, notice.turn) == ("unknown_effort", "warning", 1)
            assert notice.title.startswith("gpt-plain refused the effort 'high', so it uses its default")
            assert await ask(s, model) == []


async def test_a_switch_without_a_loss_says_nothing(ground: Ground) -> None:
    async with session(ground, [Say("One.")], [Think("Hm."), Say("Two.")], [Say("Three.")]) as s:
        assert await ask(s, GPT) == []
        assert await ask(s, CLAUDE) == []
        assert await ask(s, OPUS) == [], "the same account reads it"


async def test_what_the_model_before_did_not_get_either_is_no_news(ground: Ground) -> None:
    other = ModelRef(provider="xai", model="grok-4.7")
    async with session(ground, [Think("Hm."), Say("One.")], [Say("Two.")], [Say("Three.")], [Say("Four.")]) as s:
        assert await ask(s, CLAUDE) == []
        assert len(await ask(s, GPT)) == 1
        assert await ask(s, other) == []
        assert await ask(s, CLAUDE) == [], "its own is back"


async def test_pictures_stay_behind_where_a_model_is_known_to_take_none(ground: Ground) -> None:
    ground.write("a.png", png())
    list_models(ground, GPT, takes_images=False)
    async with session(ground, LOOK, [Say("Black.")], [Say("I trust you.")], [Say("Black, still.")]) as s:
        assert await ask(s, CLAUDE) == []
        assert pictures(s) == [1]
        (notice,) = await ask(s, GPT)
        assert notice.hint.startswith("Left out for it: 1 picture, because it takes none.")
        assert pictures(s) == [0]
        assert s.last_request.images == {}
        check_conversation(s.last_request)
        assert await ask(s, CLAUDE) == []
        assert pictures(s) == [1], "nothing was removed"


async def test_a_model_of_which_nobody_says_it_is_taken_to_see(ground: Ground) -> None:
    ground.write("a.png", png())
    list_models(ground, GPT, takes_images=None)
    async with session(ground, LOOK, [Say("Black.")], [Say("Black.")]) as s:
        assert await ask(s, CLAUDE) == []
        assert await ask(s, GPT) == []
        assert pictures(s) == [1]


async def test_a_session_that_is_opened_again_remembers_who_answered_last(ground: Ground) -> None:
    async with session(ground, [Think("Hm."), Say("One.")]) as s:
        assert await ask(s, CLAUDE) == []
    provider = ScriptedProvider(in_order([[Say("Two.")]]))

    async def source(_model: ModelRef) -> Provider:
        return provider

    async with ground.session([], resume=s.id, provider_source=source) as again:
        assert [notice.code for notice in await ask(again, GPT)] == ["switched"]
