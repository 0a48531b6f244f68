"""What a project brings beside its settings, for the one question whether the user trusts the project."""

from collections.abc import Callable, Iterable
from pathlib import Path

from desktop_agent.core.extensions.instructions import outside_imports
from desktop_agent.core.extensions.untrusted import SecretAt
from desktop_agent.core.settings.workspace_settings import ProjectItem

FINDERS: tuple[Callable[[Path, SecretAt], Iterable[ProjectItem]], ...] = (outside_imports,)
"""Each returns what the project in a folder brings of one kind. It blocks briefly, and never raises."""


def project_items(root: Path, secret_at: SecretAt) -> tuple[ProjectItem, ...]:
    return tuple(item for find in FINDERS for item in find(root, secret_at))
