"""Programs that download what they run, `uvx` and `npx`: where they keep it, and where it comes from. Pure data.

The caches of the user are not theirs in the sandbox: who can write there chooses what the user runs later. A confined
server has a cache of its own.
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from desktop_agent.core.mcp.definition import Program


class PackageRunner(Struct, frozen=True, kw_only=True):
    """One of them."""

    programs: tuple[str, ...]
    caches: Mapping[str, str]
    """Variables that name folders it writes, each with a folder in the cache."""
    quiet: Mapping[str, str]
    """Variables that keep it from asking its registry what it need not know."""
    offline: Mapping[str, str]
    """Variables that have it do with what it has."""
    registries: tuple[str, ...]
    """Hosts."""
    named_by: tuple[str, ...]
    """Variables that name other registries."""

    def hosts(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the hosts that it downloads packages from: its registry, and those that the environment names."""
        named = (word for name in self.named_by for word in environ.get(name, "").split())
        return tuple(dict.fromkeys((*self.registries, *filter(None, map(_host_of, named)))))

    def environ(self, cache: Path) -> dict[str, str]:
        """Return the variables with which it keeps everything in `cache`."""
        return {**{name: str(cache / folder) for name, folder in self.caches.items()}, **self.quiet}


_RUNNERS = (
    PackageRunner(
        programs=("uvx", "uv"),
        caches={"UV_CACHE_DIR": "uv", "UV_TOOL_DIR": "uv-tools"},
        quiet={"UV_PYTHON_DOWNLOADS": "never"},
        offline={"UV_OFFLINE": "1"},
        registries=("pypi.org", "files.pythonhosted.org"),
        named_by=("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"),
    ),
    PackageRunner(
        programs=("npx", "npm"),
        caches={"npm_config_cache": "npm"},
        quiet={"npm_config_update_notifier": "false"},
        offline={"npm_config_offline": "true"},
        registries=("registry.npmjs.org",),
        named_by=("npm_config_registry", "NPM_CONFIG_REGISTRY"),
    ),
)


def runner_of(program: Program) -> PackageRunner | None:
    """Return what downloads the server before it runs, if something does."""
    name = Path(program.command).name
    return next((runner for runner in _RUNNERS if name in runner.programs), None)


def _host_of(url: str) -> str:
    """Return the host of an address, as `AllowedHosts` has it; an index of uv may have a name before it."""
    try:
        parts = urlsplit(url.rpartition("=")[2] if "://" in url.rpartition("=")[2] else url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    return f"[{host}]{port}" if ":" in host else f"{host}{port}" if host else ""
