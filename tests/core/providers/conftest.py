import os

import pytest

from desktop_agent.core.protocol.model import ModelRequest, TextBlock, ToolDefinition, UserMessage


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().startswith(("ANTHROPIC_", "OPENAI_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)


@pytest.fixture
def model_request() -> ModelRequest:
    return ModelRequest(
        model="claude-test-large",
        system="You are careful.",
        messages=(UserMessage(content=(TextBlock(text="Fix the off-by-one."),)),),
        tools=(
            ToolDefinition(name="read_file", description="Read a file.", input_schema={"type": "object"}),
            ToolDefinition(name="edit_file", description="Edit a file.", input_schema={"type": "object"}),
        ),
        max_tokens=1024,
    )
