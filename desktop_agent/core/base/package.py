"""The package's version, and the folder it is installed in."""

from pathlib import Path
from typing import Final

__version__ = "0.1.0"

PACKAGE_FOLDER: Final = Path(__file__).parents[2]
"""The folder of `desktop_agent` as imported, with symlinks unresolved."""
