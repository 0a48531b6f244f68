"""Sets files' dates, for tests of code that detects changes by date."""

import os
from pathlib import Path

LONG_AGO_NS = 10**18
"""In 2001: a date that can be relied on."""
TO_COME_NS = 4 * 10**18
"""In 2096: too young a date to be relied on, however long a test takes."""


def put_date(path: Path, date_ns: int) -> None:
    os.utime(path, ns=(date_ns, date_ns))
