"""Ops that another program writes, a JSON object on each line."""

import json
from collections.abc import AsyncGenerator, Callable

from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.ops import MalformedOpError, decode_op
from desktop_agent.headless.input_lines import LONGEST_LINE_BYTES, lines_of


async def ops_of(descriptor: int, reject: Callable[[int, str], None]) -> AsyncGenerator[ops.Op]:
    """Yield the ops that come in, until the input ends. A line that is none is given to `reject`, with its number."""
    number = 0
    async for line in lines_of(descriptor):
        number += 1
        if line is None:
            reject(number, f"the line is longer than {LONGEST_LINE_BYTES} bytes")
        elif line.strip():
            try:
                yield decode_op(json.loads(line))
            except (MalformedOpError, RecursionError) as error:
                reject(number, str(error))
            except ValueError as error:
                reject(number, f"the line is no JSON ({error})")
