"""The stage of a journey: the window on a small shop, and a scripted model."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from PySide6.QtWidgets import QListView, QWidget

from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.cards.approval import ApprovalCard
from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from tests.e2e import orders
from tests.e2e.by_hand.hands import Keyboard, Mouse
from tests.e2e.driver import Driver
from tests.servers.script import Answer
from tests.servers.threaded import ThreadedServer

W = TypeVar("W", bound=QWidget)


@dataclass(frozen=True)
class Stage:
    """The `user` in front of the window, the `model` that answers, and the open `folder`."""

    user: Driver
    model: ThreadedServer
    folder: Path

    @property
    def transcript(self) -> Transcript:
        return self.user.transcript

    @property
    def requested(self) -> str:
        return str(self.model.messages[-1].fields["messages"])

    async def until(self, look: Callable[[], bool], what: str) -> None:
        await self.user.until_true(look, what)

    async def begin_anew(self) -> None:
        await self.user.activate()
        before = self.transcript
        if before.turn:
            await Keyboard(self.user).press("Ctrl+N")
            await self.until(lambda: self.transcript is not before, "there is a new conversation")
        else:
            await Keyboard(self.user).press("Ctrl+L")
        await self.until(self.user.composer.edit.hasFocus, "a message can be written")

    async def ask(self, prompt: str) -> None:
        turn = self.transcript.turn
        hand = Keyboard(self.user)
        await hand.write(prompt)
        await hand.press("Return")
        await self.until(lambda: self.transcript.turn > turn, "the turn begins")

    async def ask_and_stall(self, prompt: str) -> None:
        """Send a prompt; the model starts its answer and stops until `release`."""
        asked = len(self.model.messages)
        await self.ask(prompt)
        await self.user.see_stalled(self.model, asked)

    async def see_question(self) -> ApprovalCard:
        return await self.user.see_card()

    async def allow(self) -> None:
        call = (await self.see_question()).request.call_id
        await Keyboard(self.user).press("Ctrl+Shift+A")
        await self.until(lambda: not self.user.is_pending(call), "the question is answered")

    async def see_turn_end(self) -> None:
        await self.user.see_turn_end()

    async def see_changes(self, count: int) -> DiffReview:
        await self.user.see(QListView, "changeList")
        view = await self.user.see(DiffView, "diffView")
        review = view.findChild(DiffReview)
        assert review is not None
        await self.until(lambda: len(review.hunks.keys) == count, f"{count} changes are drawn")
        return review


class Journey(Protocol):
    """A journey by keyboard and by mouse. `row` is its name in the guide; only the hands' actions count."""

    @property
    def row(self) -> str: ...

    @property
    def answers(self) -> tuple[Answer, ...]: ...

    async def begin(self, stage: Stage) -> None: ...

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None: ...

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None: ...

    async def end(self, stage: Stage) -> None: ...


def make_folder(folder: Path) -> None:
    orders.make_shop(folder)
    (folder / "notes.md").write_text("Oak yellow.\n")
