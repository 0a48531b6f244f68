"""Desktop Agent: a coding assistant whose every change can be seen and undone.

Importing this package has no side effect and pulls in no Qt. The library surface is small on purpose; see
`docs/library.md`.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
