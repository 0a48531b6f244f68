"""The settings dialog, for the tests of what is shown in it."""

from tests.ui.settings.conftest import desk

__all__ = ["desk"]
