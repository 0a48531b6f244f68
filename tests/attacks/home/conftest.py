"""The places and sandboxes of the tests of the sandbox."""

from tests.core.sandbox.conftest import place, repository, runner, sandbox, shell

__all__ = ["place", "repository", "runner", "sandbox", "shell"]
