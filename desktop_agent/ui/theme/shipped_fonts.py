"""The typefaces that come with the application, so that the window looks the same everywhere."""

from functools import cache

from PySide6.QtGui import QFontDatabase

from desktop_agent.core.base.paths import resource_path


@cache
def shipped_families() -> frozenset[str]:
    """Load them, which takes 5 ms once, and return their families. A file that is missing or broken is left out.

    Needs the application object. The system's own typefaces need not be read for them, which takes longer.
    """
    loaded = (QFontDatabase.addApplicationFont(str(file)) for file in sorted(resource_path("fonts").glob("*.ttf")))
    return frozenset(family for number in loaded for family in QFontDatabase.applicationFontFamilies(number))
