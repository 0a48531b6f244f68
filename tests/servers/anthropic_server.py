"""The model server as Anthropic's Messages API, which most tests need.

async with AnthropicServer(reply(text("Hello."))) as server:
    provider = anthropic_provider(api_key="…", base_url=server.url)
"""

from tests.servers.dialects.anthropic import MODELS
from tests.servers.model_server import Exchange
from tests.servers.model_server import ModelServer as AnthropicServer

__all__ = ["MODELS", "AnthropicServer", "Exchange"]
