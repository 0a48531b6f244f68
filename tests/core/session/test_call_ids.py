"""Ids that a model gives its calls: each call has its own in the session, whatever the model says."""

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.provider import Provider
from tests.harness import Ground
from tests.providers import anthropic_provider
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.script import ToolUse, reply, text, tool_use


async def test_calls_of_one_answer_and_of_a_later_one_with_the_same_id_are_told_apart(ground: Ground) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        ground.write(name, f"content of {name}\n")

    def read(name: str) -> ToolUse:
        return tool_use("read_file", path=name).with_id("toolu_same")

    answers = [reply(read("a.txt"), read("b.txt")), reply(read("c.txt")), reply(text("Done."))]
    async with AnthropicServer(*answers, is_checking=False) as server:

        async def source(_model: ModelRef) -> Provider:
            return anthropic_provider(api_key="key", base_url=server.url)

        async with ground.session([], provider_source=source) as s:
            await s.prompt()
            finished = s.rx.all(ev.ToolCallFinished)
    assert len({event.call_id for event in finished}) == 3
    contents = {event.result.content.strip() for event in finished}
    assert contents == {"content of a.txt", "content of b.txt", "content of c.txt"}
