"""`/rewind`, `/fork` and `/clear`: another place to go on from."""

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import RewindScope
from desktop_agent.core.slash.parse import Invocation
from desktop_agent.core.slash.parts import CommandParts, Reply, SessionHands, no_more, refusal, reported
from desktop_agent.core.slash.wording import bullets, code, shortened

_SCOPES: dict[str, RewindScope] = {"conversation": "conversation", "files": "files", "both": "both"}
_SHOWN_TURNS = 20
_GONE = {
    "conversation": "The model no longer sees what came after; the files stay as they are.",
    "files": "The files are as they were before; the conversation stays.",
    "both": "The model no longer sees what came after, and the files are as they were before.",
}
_PARTLY_GONE = {
    "conversation": "The model no longer sees what came after.",
    "files": "",
    "both": "The model no longer sees what came after.",
}
"""When files were left alone, which are named."""


async def rewind(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Reply:
    """Go back to before a turn; without one, list the turns."""
    if not invocation.words:
        return Reply(_turns(parts))
    number, *more = invocation.words
    name, *rest = more or ["both"]
    no_more(rest, "/rewind TURN [conversation|files|both]")
    turn, scope = _turn(number), _SCOPES.get(name.lower())
    if scope is None:
        raise UsageError(f"/rewind cannot take back {code(name)}.", hint="It takes `conversation`, `files` or `both`.")
    done = await hands.perform(ops.RewindTo(turn=turn, scope=scope))
    if not any(isinstance(event, ev.Rewound) for event in done.events):
        return refusal(done.notice) if done.notice is not None else Reply("Nothing was taken back.", is_error=True)
    left = [outcome for e in done.events if isinstance(e, ev.ChangesUndone) for outcome in e.outcomes]
    failed = [code(outcome.path) for outcome in left if not outcome.is_done]
    sentences = [f"Went back to before turn {turn}.", (_PARTLY_GONE if failed else _GONE)[scope]]
    if failed:
        sentences.append(f"Left as they are: {', '.join(failed)}.")
    return Reply(" ".join(filter(None, sentences)))


async def fork(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Reply:
    """Copy the conversation, or its part before a turn, and go on in the copy."""
    forker = parts.services.forker
    assert forker is not None, "not offered without it"
    no_more(invocation.words[1:], "/fork [TURN]")
    turn = _turn(invocation.words[0]) if invocation.words else None
    with reported():
        made = await forker(parts.transcript.session.session_id, before_turn=turn)
    where = f" before turn {turn}" if turn is not None else ""
    text = f"Forked{where}: the copy is session {code(made)}. This one stays as it is."
    return Reply(text, opens=made)


async def clear(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Reply:
    """Say that a front end may begin anew; it is the front end that shows an empty conversation."""
    no_more(invocation.words, "/clear")
    return Reply("A new conversation begins with your next prompt. This one stays in the list of sessions.")


def _turns(parts: CommandParts) -> str:
    transcript = parts.transcript
    seen = [(turn, text) for turn, text in transcript.turns.prompts.items() if turn not in transcript.context.rewound]
    if not seen:
        return "There is no turn to go back to yet."
    lines = [f"{turn}: {code(shortened(text, 80))}" for turn, text in seen[-_SHOWN_TURNS:]]
    return f"`/rewind TURN` goes back to before one of these:\n\n{bullets(lines)}"


def _turn(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise UsageError(f"{code(text)} is not the number of a turn.", hint="`/rewind` lists the turns.")
    return int(text)
