"""Whether a request says that an answer may have several calls: where it must be said, and nowhere else."""

import json

import pytest
from msgspec.structs import replace

from desktop_agent.core.models.account import usual_account
from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.vendor_provider import wire_format_of
from desktop_agent.core.providers.wire_format import EncodedPictures


@pytest.mark.parametrize(
    ("vendor", "says"), [("llamacpp", True), ("ollama", None), ("openai-chat", None), ("openai", None)]
)
def test_only_who_calls_one_by_one_is_told(model_request: ModelRequest, vendor: str, says: bool | None) -> None:
    wire = wire_format_of(usual_account(vendor))
    assert json.loads(wire.encode(model_request, EncodedPictures())).get("parallel_tool_calls") is says
    without = json.loads(wire.encode(replace(model_request, tools=()), EncodedPictures()))
    assert "parallel_tool_calls" not in without, "APIs refuse it without tools"
