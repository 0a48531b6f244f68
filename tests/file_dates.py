"""Sets files' dates, for tests of code that detects changes by date."""

import os
from pathlib import Path

LONG_AGO_NS = 10**18
"""In 2001: a date that is trusted."""
TO_COME_NS = 4 * 10**18
"""In 2096: a date that is too young to be trusted."""


def put_date(path: Path, date_ns: int) -> None:
    os.utime(path, ns=(date_ns, date_ns))
