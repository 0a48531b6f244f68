"""An imported conversation can be gone on with: the next request is one that the API takes."""

import json

import pytest

from desktop_agent.core.context.history import History
from desktop_agent.core.protocol.model import ModelRequest, TextBlock, ToolDefinition, UserMessage
from desktop_agent.core.providers.anthropic.request import encode_request
from tests.core.importing.conftest import Importing
from tests.servers.validation.anthropic import check_request


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex.jsonl"])
def test_the_next_request_is_accepted_although_its_tools_are_others(ground: Importing, name: str) -> None:
    history = History()
    for event in ground.events(ground.run(ground.sample(name))):
        history.fold.apply(event)
    *before, last = history.messages()
    assert isinstance(last, UserMessage)
    prompt = UserMessage(content=(*last.content, TextBlock(text="Go on")))
    tool = ToolDefinition(name="read_file", description="Reads", input_schema={"type": "object"})
    request = ModelRequest(model="m", system="s", messages=(*before, prompt), tools=(tool,), max_tokens=100)
    assert check_request(json.loads(encode_request(request))) == []
