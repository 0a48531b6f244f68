from tests.ui.settings.conftest import desk

__all__ = ["desk"]
