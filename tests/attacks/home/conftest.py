from tests.core.conftest import runner
from tests.core.sandbox.conftest import place, repository, sandbox, shell

__all__ = ["place", "repository", "runner", "sandbox", "shell"]
