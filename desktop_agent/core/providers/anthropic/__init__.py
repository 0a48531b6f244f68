"""Anthropic's Messages API. Importing this package imports no SDK; the provider does when it is first used."""

from desktop_agent.core.providers.anthropic.provider import AnthropicProvider

__all__ = ["AnthropicProvider"]
