"""Of several waiting questions only the latest is answered, one at a time."""

import asyncio
from collections.abc import Coroutine

import pytest

from desktop_agent.app.controller import LatestQuestion


class Answering:
    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[object]] = []
        self.has_begun = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.answered: list[str] = []
        self.questions = LatestQuestion(self._answer, self._spawn)

    def _spawn(self, work: Coroutine[object, object, object]) -> None:
        self.tasks.append(asyncio.ensure_future(work))

    async def _answer(self, question: str) -> None:
        self.has_begun.set()
        await self.may_answer.wait()
        if question == "fails":
            raise ValueError(question)
        self.answered.append(question)


async def test_what_was_asked_between_is_never_answered() -> None:
    one = Answering()
    one.questions.ask("a")
    await one.has_begun.wait()
    for question in ("ab", "abc", "abcd"):
        one.questions.ask(question)
    assert one.questions.is_waiting
    one.may_answer.set()
    await asyncio.gather(*one.tasks)
    assert not one.questions.is_waiting
    assert one.answered == ["a", "abcd"]


async def test_what_was_dropped_is_not_answered() -> None:
    one = Answering()
    one.questions.ask("a")
    await one.has_begun.wait()
    one.questions.ask("ab")
    one.questions.drop()
    one.may_answer.set()
    await asyncio.gather(*one.tasks)
    assert one.answered == ["a"]


async def test_a_failure_keeps_no_later_question_from_being_answered() -> None:
    one = Answering()
    one.may_answer.set()
    one.questions.ask("fails")
    with pytest.raises(ValueError, match="fails"):
        await asyncio.gather(*one.tasks)
    one.tasks.clear()
    one.questions.ask("a")
    await asyncio.gather(*one.tasks)
    assert one.answered == ["a"]
