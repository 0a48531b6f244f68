"""Fixtures of the tests about what commands changed."""

from tests.core.diff.conftest import settle

__all__ = ["settle"]
