"""Lets a run's workers share the rewriting of assertions, half of the time of collecting tests.

In a fresh checkout each worker would rewrite every file at the same time. So each first rewrites its share.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def rewrite_share(config: pytest.Config) -> None:
    """Rewrite this worker's share of the test files, if there are workers. Errors are left to pytest."""
    given: dict[str, object] | None = getattr(config, "workerinput", None)
    state = config.stash.get(rewrite.assertstate_key, None)
    if given is None or state is None or sys.dont_write_bytecode:
        return
    number, count = int(str(given["workerid"]).removeprefix("gw")), int(str(given["workercount"]))
    for file in list(_files(config))[number::count]:
        folder = rewrite.get_cache_dir(file)
        target = folder / f"{file.stem}{rewrite.PYC_TAIL}"
        if _is_newer(target, file):
            continue
        try:
            folder.mkdir(exist_ok=True)
            source, code = rewrite._rewrite_test(file, config)  # pyright: ignore[reportPrivateUsage] - no other way
            rewrite._write_pyc(state, code, source, target)  # pyright: ignore[reportPrivateUsage]
        except (OSError, SyntaxError):
            return


def _files(config: pytest.Config) -> Iterator[Path]:
    """The requested test files, in the same order in all workers."""
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        yield from sorted(path.rglob("test_*.py")) if path.is_dir() else (path,)


def _is_newer(one: Path, other: Path) -> bool:
    try:
        return one.stat().st_mtime >= other.stat().st_mtime
    except OSError:
        return False
