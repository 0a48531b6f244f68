"""Turns whose answer must be a value: the model is asked again for one that is none."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from desktop_agent.core.transcript import Transcript
from desktop_agent.library.output_schema import OutputSchema
from desktop_agent.library.results import InvalidOutputError, Result, StructuredResult, combined, with_output


async def answer_as(
    output: OutputSchema,
    prompt: str,
    include: Sequence[Path | str],
    run: Callable[[str, Sequence[Path | str]], Awaitable[Result]],
    transcript: Transcript,
) -> StructuredResult[object]:
    """Run `prompt`, and further turns as long as the answer is wrong; return all of that with the value.

    `run` runs one turn with files to include. Raises what it raises, and `InvalidOutputError` when there is no value in
    the end.
    """
    results = [await run(f"{prompt}\n\n{output.instructions}", include)]
    for is_last in (*[False] * output.corrections, True):
        last = results[-1]
        if not last.is_completed:
            raise InvalidOutputError(combined(results), f"the turn ended with {last.reason}")
        mistake = output.mistake_in(transcript, last.turn)
        if not mistake:
            break
        if is_last:
            raise InvalidOutputError(combined(results), mistake)
        results.append(await run(output.correction(mistake), ()))
    return with_output(combined(results), output.value_in(transcript, results[-1].turn))
