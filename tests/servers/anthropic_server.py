"""The model server as Anthropic's Messages API, which most tests need.

    async with AnthropicServer(reply(text("Hello."))) as server:
        provider = anthropic_provider(api_key="…", base_url=server.url)

As a process of its own: `python -m tests.servers.anthropic_server --script answers.json`.
"""

import sys

from tests.servers.dialects.anthropic import MODELS
from tests.servers.model_server import Exchange
from tests.servers.model_server import ModelServer as AnthropicServer
from tests.servers.process import main

__all__ = ["MODELS", "AnthropicServer", "Exchange"]

if __name__ == "__main__":
    main(sys.argv[1:])
