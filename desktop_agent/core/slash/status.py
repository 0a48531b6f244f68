"""`/status`: what the session works with, and how full the model's context is."""

import asyncio

from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.models.vendors import known_vendor
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.slash.parse import Invocation
from desktop_agent.core.slash.parts import CommandParts, Reply, SessionHands, no_more
from desktop_agent.core.slash.pinning import described
from desktop_agent.core.slash.wording import bullets, code
from desktop_agent.core.transcript import CompactionEntry

_SOURCES = {"reported": "as the provider reported it", "counted": "counted by the provider", "estimated": "estimated"}


async def status(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Reply:
    """Describe the session as it is now."""
    no_more(invocation.words, "/status")
    await parts.context_manager.pins.expire()
    transcript, model = parts.transcript, parts.transcript.session.model
    name = f"{model.provider}/{model.model}" if model is not None else "none"
    state = {"idle": "idle", "working": "working", "waiting": "waiting for you"}[transcript.turns.status]
    queued = f", {len(transcript.turns.queued)} waiting" if transcript.turns.queued else ""
    lines = [
        await _tokens(parts),
        f"Auto-compaction: {_auto(parts)}",
        f"Last compaction: {_last_compaction(parts)}",
        f"Active pins: {len(transcript.context.pins) or 'none'}",
        *(f"  {described(pin)}" for pin in transcript.context.pins.values()),
        f"Model: {code(name)}{_effort(model)}",
        *await _destination(parts, model),
        f"Mode: approval {code(transcript.session.approval)}, sandbox {code(transcript.session.sandbox)}",
        f"State: {state}{queued}, {number_of(transcript.turn, 'turn')}",
        f"Session: {code(transcript.session.session_id)}",
        f"Folder: {code(str(parts.workspace))}",
    ]
    return Reply(bullets(lines).replace("\n-   ", "\n  - "))


async def _tokens(parts: CommandParts) -> str:
    model = parts.transcript.session.model
    if parts.context_manager.meter.use is None and model is not None:
        await parts.context_manager.measure(provider=None)
    use = parts.context_manager.meter.use
    if use is None:
        return "Tokens: not known yet"
    share = f" ({use.tokens / use.window:.0%})" if use.window else ""
    theirs = f", about {use.server_tool_tokens:,} for tools of MCP servers" if use.server_tool_tokens else ""
    searched = f"; {number_of(use.deferred_tools, 'tool')} of theirs left to a search" if use.deferred_tools else ""
    return f"Tokens: {use.tokens:,} of {use.window:,}{share}, {_SOURCES[use.source]}{theirs}{searched}"


async def _destination(parts: CommandParts, model: ModelRef | None) -> list[str]:
    """Say where the session's requests go; nothing for a provider that sends none."""
    vendor = known_vendor(model.provider) if model is not None else None
    if model is None or vendor is None:
        return []
    address = await asyncio.to_thread(parts.accounts.address_of, model)
    return [f"Requests go to: {code(address or vendor.address)}"]


def _effort(model: ModelRef | None) -> str:
    return f", effort {code(model.effort)}" if model is not None and model.effort else ""


def _auto(parts: CommandParts) -> str:
    model = parts.transcript.session.model
    target = parts.context_manager.packer.target(model) if model is not None else 0
    running = ", and one is being made now" if parts.context_manager.is_compacting else ""
    return (f"on, from {target:,} tokens on" if target else "off") + running


def _last_compaction(parts: CommandParts) -> str:
    entries = parts.transcript.entries
    done = [entry.event for entry in entries if isinstance(entry, CompactionEntry) and not entry.is_undone]
    if not done:
        in_force = parts.context_manager.history.compaction  # its entry may stand on a page that is not loaded
        return f"through turn {in_force.through_turn}" if in_force is not None else "none"
    last = done[-1]
    tokens = f", about {last.tokens_before:,} → {last.tokens_after:,} tokens" if last.tokens_before else ""
    how = "by itself" if last.is_automatic else "as you asked"
    return f"{last.at:%Y-%m-%d %H:%M} UTC, through turn {last.through_turn}, {how}{tokens}"
