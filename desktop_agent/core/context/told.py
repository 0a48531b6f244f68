"""The conversation as another program's agent is told it: only what it does not know yet, as texts and pictures."""

import json
import re
from collections.abc import Iterator
from typing import Final

from desktop_agent.core.context.history_fold import ElsewhereNote, GuidanceNote, HistoryFold, attached_blocks
from desktop_agent.core.context.packing import pinned_text
from desktop_agent.core.context.summaries import rendered
from desktop_agent.core.protocol.model import (
    AssistantMessage,
    BlobRef,
    ImageBlock,
    ModelRef,
    TextBlock,
    ToolUseBlock,
)
from desktop_agent.core.transcript.entries import QueuedPrompt

Told = str | BlobRef
"""A text, or a picture."""

_MOST_CHARS: Final = 200_000
_LONGEST_RESULT: Final = 2_000
_BEGINNING = "[What follows was said before, partly with another assistant. It is the conversation so far.]"
_COMMAND = re.compile(r"/[^\s/]+(?:\s|$)")
_CUT = "[The older part of the conversation was left out.]"


def told_since(fold: HistoryFold, agent: ModelRef, *, is_known: bool, through_turn: int = 0) -> list[Told]:
    """Return what happened since the agent last answered; everything, unless its session `is_known` to it.

    That session has all turns up to `through_turn`, also those that others answered. The last prompt and what belongs
    to it are whole. If the rest is too long, the oldest texts are left out. The pins come last, as in our own requests,
    but not after a command of the agent's, which takes the whole text as its arguments.
    """
    prompt = max((start.index for start in fold.starts.values()), default=0)
    first, known_to = fold.compaction.end if fold.compaction is not None else 0, agent.model if is_known else ""
    if is_known:
        had = [start.index for turn, start in fold.starts.items() if turn <= through_turn]
        later = min((start.index for turn, start in fold.starts.items() if turn > through_turn), default=0)
        answers = [at for at, item in enumerate(fold.items) if isinstance(item, AssistantMessage)]
        had += [at for at in answers if (had and at < later) or _is_of(fold.items[at], agent)]
        first = max(had) + 1 if had else first
    earlier: list[Told] = []
    if first < prompt:
        if fold.compaction is not None and not is_known:
            earlier.append(rendered(fold.compaction.summary))
        earlier += _as_told(fold, min(first, prompt), prompt, known_to)
    kept, size = list[Told](), 0
    for one in reversed(earlier):
        size += len(one) if isinstance(one, str) else 0
        if size > _MOST_CHARS:
            kept.append(_CUT)
            break
        kept.append(one)
    has_answers = any(isinstance(item, AssistantMessage) for item in fold.items[first:prompt])
    head = [_BEGINNING] if has_answers else []
    now = list(_as_told(fold, max(first, prompt), len(fold.items), known_to))
    is_command = any(isinstance(one, str) and _COMMAND.match(one) for one in now[:1])
    pinned = "" if is_command else pinned_text(fold.pins.values())
    return [*head, *reversed(kept), *now, *filter(None, (pinned,))]


def told_in_turn(prompt: QueuedPrompt) -> list[Told]:
    """Return a message that the user sends while the agent works."""
    attached = attached_blocks(prompt.prompt_id, prompt.attachments)
    return [prompt.text, *(one.text if isinstance(one, TextBlock) else one.image for one in attached)]


def _is_of(item: object, agent: ModelRef) -> bool:
    return isinstance(item, AssistantMessage) and item.made_by is not None and item.made_by.bare == agent.bare


def _as_told(fold: HistoryFold, first: int, last: int, known_to: str) -> Iterator[Told]:
    for item in fold.items[first:last]:
        match item:
            case TextBlock(text=text):
                yield text
            case ImageBlock(image=image):
                yield image
            case AssistantMessage(content=content):
                said = "".join(block.text for block in content if isinstance(block, TextBlock))
                calls = [_call(fold, block) for block in content if isinstance(block, ToolUseBlock)]
                if text := "\n".join(filter(None, (said, *calls))):
                    yield f"[The assistant answered:]\n{text}"
            case ElsewhereNote(agent=said_to, text=text):
                if said_to != known_to:
                    yield text
            case GuidanceNote():  # the agent reads such files by itself
                pass


def _call(fold: HistoryFold, call: ToolUseBlock) -> str:
    result = fold.results.get(call.id)
    text = result.content if result is not None else "[unknown]"
    text = text if len(text) <= _LONGEST_RESULT else f"{text[:_LONGEST_RESULT]} …"
    arguments = json.dumps(call.arguments, ensure_ascii=False)[:_LONGEST_RESULT]
    return f"[It called {call.name} with {arguments}. The result:]\n{text}"
