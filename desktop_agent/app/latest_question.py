"""Answers questions that come with every key: one at a time, and of those that wait only the latest."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from desktop_agent.app.background_tasks import Try

Q = TypeVar("Q")


class LatestQuestion(Generic[Q]):
    """Has at most one question answered at a time, in the background."""

    def __init__(self, answer: Callable[[Q], Awaitable[None]], try_: Try) -> None:
        self._answer = answer
        self._try = try_
        self._waiting: Q | None = None
        self._is_answering = False

    @property
    def is_waiting(self) -> bool:
        """Whether something else was asked since the answer that is being given was begun."""
        return self._waiting is not None

    def ask(self, question: Q) -> None:
        """Have this answered next, instead of what waits."""
        self._waiting = question
        if not self._is_answering:
            self._is_answering = True
            self._try(self._answer_all())

    def drop(self) -> None:
        """Answer no more of what waits."""
        self._waiting = None

    async def _answer_all(self) -> None:
        try:
            while (question := self._waiting) is not None:
                self._waiting = None
                await self._answer(question)
        finally:
            self._is_answering = False
