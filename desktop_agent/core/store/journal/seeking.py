"""Where in a journal the records after a number are, without reading what is before them."""

import re
from pathlib import Path
from typing import Final

from desktop_agent.core.store.journal.lines import MAX_LINE_BYTES, open_regular

NEAR_BYTES: Final = 2**16
"""How much may be read for nothing: searching on would not be quicker."""

_HEAD: Final = re.compile(rb'\{"v":\d+,"seq":(\d{1,18}),')
_HEAD_BYTES: Final = 64


def offset_after(path: Path, seq: int, *, near_bytes: int = NEAR_BYTES) -> int:
    """Return the beginning of a line, close before the first record with a number above `seq`. Blocks.

    Numbers grow along the file. A line that begins as none of ours ends the search: too early is never wrong. Raises
    `OSError`.
    """
    with open_regular(path) as file:
        low, high = 0, file.seek(0, 2)  # what is before `low` is not above `seq`; what is from `high` on is
        while high - low > near_bytes:
            middle = (low + high) // 2
            file.seek(middle)
            file.readline(MAX_LINE_BYTES)
            start = file.tell()
            if start >= high:
                high = middle
                continue
            head = _HEAD.match(file.read(_HEAD_BYTES))
            if head is None:
                break
            if int(head[1]) <= seq:
                low = start
            else:
                high = middle
        return low
