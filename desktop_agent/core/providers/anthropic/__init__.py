"""Anthropic's Messages API. Importing this package imports no HTTP client; the first request does."""

from desktop_agent.core.providers.anthropic.provider import AnthropicProvider

__all__ = ["AnthropicProvider"]
