"""`/pin` and `/unpin`: what stays in the model's sight."""

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Pin
from desktop_agent.core.slash.parse import Invocation, first_word, plain_text
from desktop_agent.core.slash.parts import CommandParts, Reply, SessionHands, refusal
from desktop_agent.core.slash.wording import bullets, code, shortened

_USAGE = "Write `/pin add [--ttl=SECONDS] TEXT`, `/pin remove ID` or `/pin list`."


async def pin(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Reply:
    """Add or remove a pin, or list them."""
    action, rest = first_word(invocation.rest)
    match action.lower():
        case "add":
            return await _add(rest, hands)
        case "remove":
            return await _remove(rest, hands)
        case "" | "list" if not rest:
            await parts.context_manager.pins.expire()
            pins = parts.transcript.context.pins.values()
            return Reply(bullets(map(described, pins)) if pins else "Nothing is pinned. `/pin add TEXT` pins a text.")
        case _:
            raise UsageError(f"/pin cannot {code(action)}.", hint=_USAGE)


async def unpin(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Reply:
    """Remove a pin."""
    return await _remove(invocation.rest, hands)


def described(pin: Pin) -> str:
    """Return one pin on one line."""
    until = f", until {pin.expires_at:%Y-%m-%d %H:%M:%S} UTC" if pin.expires_at is not None else ""
    return f"{code(pin.id)}{until}: {code(shortened(pin.text))}"


async def _add(rest: str, hands: SessionHands) -> Reply:
    ttl_s: float | None = None
    word, behind = first_word(rest)
    if word == "--ttl" or word.startswith("--ttl="):
        value = word.removeprefix("--ttl").removeprefix("=")
        if not value:
            value, behind = first_word(behind)
        ttl_s, rest = _seconds(value), behind
    elif word.startswith("--") and len(word) > 2:
        raise UsageError(f"/pin add has no option {code(word)}.", hint=_USAGE)
    text = plain_text(rest)
    if not text:
        raise UsageError("There is nothing to pin: the text is empty.", hint=_USAGE)
    done = await hands.perform(ops.AddPin(text=text, ttl_s=ttl_s))
    for event in done.events:
        if isinstance(event, ev.Pinned):
            return Reply(f"Pinned {described(event.pin)}")
    return refusal(done.notice) if done.notice is not None else Reply("Nothing was pinned.", is_error=True)


async def _remove(rest: str, hands: SessionHands) -> Reply:
    pin_id = plain_text(rest)
    if not pin_id:
        raise UsageError("Which pin?", hint="`/pin list` lists them with their ids.")
    done = await hands.perform(ops.RemovePin(pin_id=pin_id))
    if done.notice is not None:
        return refusal(done.notice)
    return Reply(f"Unpinned {code(pin_id)}.")


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = f"--ttl is a number of seconds, not {code(text)}."
        raise UsageError(message, hint="`--ttl=3600` keeps it for an hour.") from None
