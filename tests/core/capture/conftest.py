from tests.core.diff.conftest import settle

__all__ = ["settle"]
