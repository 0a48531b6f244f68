"""Packing: system prompt, conversation and tools become one request, in an order that providers can cache.

What stands first changes least: tools, then the system prompt (which holds nothing newer than the date), then the
conversation, which only grows at its end.
"""

import platform
from datetime import datetime
from pathlib import Path

from desktop_agent.core.context.history import History
from desktop_agent.core.context.pictures import with_newest_pictures
from desktop_agent.core.model import ModelRequest, ToolDefinition
from desktop_agent.core.paths import resource_path


def system_prompt(workspace: Path, now: datetime) -> str:
    """Return the system prompt for a session that starts at `now`. Blocks shortly: it reads a shipped file."""
    template = resource_path("prompts", "system.md").read_text(encoding="utf-8")
    return template.format(workspace=workspace, system=platform.system(), date=f"{now:%Y-%m-%d}").strip()


def pack(
    history: History,
    *,
    model: str,
    system: str,
    tools: tuple[ToolDefinition, ...],
    max_tokens: int,
    stable_messages: int,
) -> ModelRequest:
    """Return the next request. `stable_messages` is the length of the conversation in the previous one.

    It names its pictures (`image_digests`) and does not have their bytes: the caller adds `images`, off the event loop.
    """
    messages = with_newest_pictures(history.messages())
    return ModelRequest(
        model=model,
        system=system,
        messages=messages,
        tools=tools,
        max_tokens=max_tokens,
        stable_messages=min(stable_messages, len(messages)),
    )
