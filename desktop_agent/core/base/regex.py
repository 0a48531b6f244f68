"""Regular expressions that are compiled at their first use. Hundreds are declared, and a process uses a few of them."""

import re
from typing import AnyStr, Generic, cast


class _Uncompiled(Generic[AnyStr]):
    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._declared = pattern, flags

    def __getattr__(self, name: str) -> object:
        """Take over an attribute of the pattern, so that later uses are as fast as those of the pattern itself."""
        if name.startswith("_"):
            raise AttributeError(name)
        found: object = getattr(re.compile(*self._declared), name)
        setattr(self, name, found)
        return found


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Declare a pattern. It is used by its own methods; functions such as `re.sub` do not take it."""
    return cast("re.Pattern[AnyStr]", _Uncompiled(pattern, flags))
