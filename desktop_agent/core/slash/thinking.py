"""`/effort`: how much the model thinks, from the next turn on."""

from msgspec.structs import replace

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.models.known_model import OWN, KnownModel, effort_meant, levels_of
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.slash.parse import Invocation
from desktop_agent.core.slash.parts import CommandParts, Reply, SessionHands, no_more, refusal
from desktop_agent.core.slash.wording import code


async def effort(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Reply:
    """Show the level of effort or set it, for this session and this model."""
    no_more(invocation.words[1:], "/effort LEVEL")
    model = parts.transcript.session.model
    known = await parts.context_manager.packer.look_up(model) if model is not None else None
    if model is None or known is None:
        raise UsageError("Nothing is known of the model, so no effort can be asked of it.")
    if not invocation.words:
        return Reply(_described(model, known))
    level = effort_meant(invocation.words[0], known)
    done = await hands.perform(ops.SetMode(model=replace(model, effort=level)))
    if done.notice is not None:
        return refusal(done.notice)
    when = "the next turn" if hands.is_busy() else "now"
    return Reply(f"The effort of {code(known.shown)} is {_shown(level)} from {when} on.")


def _described(model: ModelRef, known: KnownModel) -> str:
    levels = levels_of(known)
    if not levels:
        return f"{code(known.shown)} takes no level of effort."
    listed = ", ".join(map(code, (OWN, *levels)))
    unsure = "" if known.takes_effort else " Which of them this model takes is not known."
    unfit = ", which this model does not know, so none is asked of it" if _is_unfit(model, levels) else ""
    return f"The effort is {_shown(model.effort)}{unfit}. `/effort LEVEL` sets another: {listed}.{unsure}"


def _is_unfit(model: ModelRef, levels: tuple[str, ...]) -> bool:
    return bool(model.effort) and model.effort not in levels


def _shown(level: str) -> str:
    return code(level) if level else "the model's own"
