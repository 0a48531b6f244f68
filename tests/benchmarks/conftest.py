from collections.abc import Generator
from pathlib import Path

import pytest

from desktop_agent.core.base.paths import AppPaths
from tests.benchmarks.session_data import Author
from tests.benchmarks.source_tree import grow


@pytest.fixture(autouse=True, scope="session")
def unsynced() -> None:
    """Let writes sync to disk, as in the application: syncing is part of the measurement."""


@pytest.fixture(autouse=True)
def printed(capsys: pytest.CaptureFixture[str]) -> Generator[None]:
    """Show what a benchmark prints, on lines of its own."""
    with capsys.disabled():
        print()
        yield


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of 30,000 files, which benchmarks only read."""
    root = tmp_path_factory.mktemp("tree")
    grow(root)
    return root


@pytest.fixture(scope="module")
def sessions_home(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A home with many sessions, and without caches."""
    root = tmp_path_factory.mktemp("home")
    count = 5_000 if request.config.getoption("--profile") == "nightly" else 1_000
    list(Author().sessions(root / "sessions", count))
    return root


@pytest.fixture
def window_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppPaths:
    """The home of windows in processes of their own. The folder `workspace` exists beside it."""
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    (tmp_path / "workspace").mkdir()
    return AppPaths.from_environment()
