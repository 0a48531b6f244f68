"""The conversation as the model sees it: alternating messages of what the journal says.

Whatever the journal holds, the messages are valid for a provider: roles alternate, every tool call is answered exactly
once in the message that follows it, and nothing is empty. A call that never came to a result (a crash, a kill) is
answered with the plain truth.
"""

from collections.abc import Sequence

from msgspec import Struct, field

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.context.history_fold import Beginning, Compaction, HistoryFold
from desktop_agent.core.context.message_building import Conversation, answer, built, guidance_note
from desktop_agent.core.context.shortening import is_worth_it, shortened
from desktop_agent.core.context.summaries import rendered
from desktop_agent.core.context.tokens import block_tokens, message_tokens
from desktop_agent.core.protocol.model import (
    AssistantMessage,
    GuidanceFile,
    Message,
    Pin,
    TextBlock,
    ToolUseBlock,
    UserBlock,
)


class History(Struct):
    """What is asked of the fold; `messages` is what to send. Another fold of the same journal may take its place."""

    fold: HistoryFold = field(default_factory=HistoryFold)

    @property
    def pins(self) -> tuple[Pin, ...]:
        """What stays in sight, oldest first."""
        return tuple(self.fold.pins.values())

    @property
    def guidance(self) -> tuple[GuidanceFile, ...]:
        """The AGENTS.md files that hold: those of the system prompt first, then those of folders."""
        return self.fold.guidance

    @property
    def compaction(self) -> Compaction | None:
        """The one whose summary is shown."""
        return self.fold.compaction

    @property
    def turns(self) -> tuple[int, ...]:
        """The turns that are shown word by word, oldest first."""
        end = self.fold.compactions[-1].end if self.fold.compactions else 0
        return tuple(turn for turn, start in self.fold.starts.items() if start.index >= end)

    @property
    def can_undo_compaction(self) -> bool:
        """Whether the fold has what the compaction in force stands for."""
        return bool(self.fold.compactions) and (self.fold.is_whole or len(self.fold.compactions) > 1)

    def can_rewind_to(self, turn: int) -> bool:
        """Whether the fold has everything before this turn that would be shown again."""
        return self.fold.is_whole or self.has_turn(turn)

    def has_turn(self, turn: int) -> bool:
        """Whether the fold has this turn, shown or summarised, so that it can go back to before it."""
        return turn in self.fold.starts

    def beginning(self, undoable: int = 1) -> Beginning:
        """Return from where a fold must begin to come to this one, and be able to undo `undoable` compactions."""
        if len(self.fold.compactions) <= undoable:
            return Beginning(1, ())
        compaction = self.fold.compactions[-1 - undoable]
        return compaction.beginning

    def turn_sizes(self) -> dict[int, float]:
        """Estimate what each turn takes that is shown word by word, oldest first."""
        shown, short = frozenset(self.turns), self.fold.shortened
        return {
            turn: message_tokens(built(self.fold, first, last, short).messages)
            for turn, (first, last) in self.fold.bounds().items()
            if turn in shown
        }

    def long_results(self, turns: Sequence[int]) -> list[tuple[CallId, float]]:
        """Return the calls of these turns whose results could be shortened, oldest first, and how much that saves.

        Those of the last message are not among them: the model has not read them yet.
        """
        saved: list[tuple[CallId, float]] = []
        done = self.fold.shortened
        bounds = self.fold.bounds()
        for turn in turns:
            first, last = bounds.get(turn, (0, 0))
            messages = [item for item in self.fold.items[first:last] if isinstance(item, AssistantMessage)]
            for call_id in (block.id for item in messages for block in item.content if isinstance(block, ToolUseBlock)):
                result = self.fold.results.get(call_id)
                if result is not None and call_id not in done and is_worth_it(result):
                    whole, short = (answer(call_id, each, is_external=False) for each in (result, shortened(result)))
                    saved.append((call_id, block_tokens(whole) - block_tokens(short)))  # a frame stays in both
        newest = {call.id for call in self.newest_calls()}
        return [(call_id, size) for call_id, size in saved if call_id not in newest]

    def newest_calls(self) -> tuple[ToolUseBlock, ...]:
        """Return the calls of the last message of the model."""
        newest = next((item for item in reversed(self.fold.items) if isinstance(item, AssistantMessage)), None)
        blocks = newest.content if newest is not None else ()
        return tuple(block for block in blocks if isinstance(block, ToolUseBlock))

    def messages_through(self, turn: int) -> tuple[Message, ...]:
        """Return what is shown up to the end of a turn: what a compaction through it summarises."""
        compaction = self.compaction
        return built(
            self.fold, compaction.end if compaction else 0, self.fold.bounds().get(turn, (0, 0))[1], self.fold.shortened
        ).messages

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation, roles alternating, the first one the user's."""
        return self.conversation().messages

    def conversation(self) -> Conversation:
        """Return the messages, and how many of them were part of the request before."""
        compaction = self.compaction
        if compaction is None:
            return built(self.fold, 0, len(self.fold.items), frozenset())
        head: list[UserBlock] = []
        if compaction.through_turn:
            head.append(TextBlock(text=rendered(compaction.summary)))
            head += [TextBlock(text=guidance_note(file.path, file)) for file in compaction.guidance]
        return built(self.fold, compaction.end, len(self.fold.items), compaction.shortened, head, compaction.made_at)
