"""Lets the session's model write the message of a commit, in the style of the repository's last subjects.

The request has the committed lines up to a limit, without the contents of files that hold secrets.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.paths import prompt_text
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.changes.patch import PatchFile, make_patch
from desktop_agent.core.commits.git_commit import prepare
from desktop_agent.core.commits.selected_lines import Fitted
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, ModelRequest, TextBlock, UserMessage
from desktop_agent.core.providers.provider import ProviderPool, answer_aside
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.system.files import FileState

logger = logging.getLogger(__name__)

MAX_TOKENS: Final = 1_000
MAX_CHARS: Final = 40_000
_MAX_FILE_CHARS: Final = 8_000
_MAX_PROMPT_CHARS: Final = 4_000


class CommitDrafting:
    def __init__(self, parts: SessionParts, providers: ProviderPool) -> None:
        self._parts = parts
        self._providers = providers
        self._task: asyncio.Task[None] | None = None

    def begin(self, selections: Sequence[ChangeSelection]) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(selections), name="commit message")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def aclose(self) -> None:
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=1.0)  # a library can lose a cancellation

    async def _run(self, selections: Sequence[ChangeSelection]) -> None:
        drafted = ev.CommitDrafted()
        try:
            drafted = ev.CommitDrafted(text=await self._text(selections))
        except AgentError as error:
            drafted = ev.CommitDrafted(obstacle=error.title, hint=error.hint)
        except Exception:
            logger.exception("No message was drafted")
            drafted = ev.CommitDrafted(obstacle="The message could not be written.")
        finally:
            self._parts.recorder.emit(drafted)

    async def _text(self, selections: Sequence[ChangeSelection]) -> str:
        parts, transcript = self._parts, self._parts.state.transcript
        turn, model = transcript.turn, transcript.session.model
        if model is None or model.provider == "demo" or model.is_agent:
            raise AgentError("No model can write the message.", hint="Write it yourself, or choose another model.")
        if await parts.spending.is_limit_reached(turn):
            raise AgentError("The spending limit is reached.", hint="Write the message yourself, or raise the limit.")
        _, fitted, subjects = await prepare(transcript, parts.ledger, selections)
        if not fitted.committed:
            raise AgentError("There is nothing to commit.")
        asked = "\n\n".join(transcript.turns.prompts.values())[-_MAX_PROMPT_CHARS:]
        lines = await asyncio.to_thread(lines_of, fitted)
        said = (
            f"<subjects>\n{subjects}</subjects>\n<asked>\n{asked}\n</asked>\n<lines>\n{lines}\n</lines>\n\nThe message:"
        )
        request = ModelRequest(
            model=model.model,
            system=prompt_text("commit.md"),
            messages=(UserMessage(content=(TextBlock(text=mask(said)),)),),
            tools=(),
            max_tokens=MAX_TOKENS,
        )
        provider = await self._providers.get(model)
        completion = await answer_aside(parts.recorder, provider, model, request, turn, "commit")
        await parts.spending.warn_of_unknown_price(turn, completion.usage, model)
        if completion.stop_reason == "refusal" or not (text := clean_message(completion.text)):
            raise AgentError("The model wrote no message.", hint="Try again, or write it yourself.")
        return text


def lines_of(fitted: Fitted) -> str:
    """Return the committed lines as a patch, of each file and altogether up to a limit. Blocks."""
    found, room = list[str](), MAX_CHARS
    for path, state in fitted.committed.items():
        text = f"{name_on_a_line(path)}: what changed is not shown.\n"
        if sensitivity(path) is None and room > 0:
            text = _patch(path, fitted.before[path], state)
            most = min(_MAX_FILE_CHARS, room)
            text = text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters\n"
        found.append(text)
        room -= len(text)
    return "".join(found)[: 2 * MAX_CHARS]


def _patch(path: str, before: FileState | None, after: FileState | None) -> str:
    images = [state and state.image() for state in (before, after)]
    change = FileChange(id="", path=path, kind="modified", author="agent", before=images[0], after=images[1])
    contents = [state.content if state is not None else None for state in (before, after)]
    if any(content is not None and b"\0" in content for content in contents):
        return f"{name_on_a_line(path)}: a binary file changed.\n"
    return make_patch([PatchFile(change, contents[0], contents[1])], is_for_reading=True).decode("utf-8", "replace")


def clean_message(text: str) -> str:
    """Return the message without a code fence around it, and with an empty line below its subject."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1] == "```":
        lines = lines[1:-1]
    subject, *body = "\n".join(lines).strip().split("\n")
    rest = "\n".join(body).strip("\n")
    return f"{subject.strip()}\n\n{rest}" if rest else subject.strip()
