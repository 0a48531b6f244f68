"""Confines a server as its definition says, for its whole life. A server that must be confined never runs unconfined.

Packages are downloaded in a separate run, which reaches the registry but not the open folder.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import SandboxError, ServerError, ToolError
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.mcp.client import NotTrustedError
from desktop_agent.core.mcp.definition import Program, ServerSandbox, folder_meant
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.sandbox.confinement import ConfinementSpec, Folders, is_within
from desktop_agent.core.sandbox.find import Sandbox, SandboxSearch
from desktop_agent.core.sandbox.guarded import launching
from desktop_agent.core.sandbox.host_proxy import AllowedHosts, HostProxy, proxy_variables
from desktop_agent.core.system.environment import confined_environment
from desktop_agent.core.system.network.connections import Resolver, system_resolver
from desktop_agent.core.system.private_files import make_private_file, make_private_folder
from desktop_agent.core.system.processes.process_table import process_table
from desktop_agent.core.system.processes.runner import Command, ProcessRunner


class PackageRunner(Struct, frozen=True, kw_only=True):
    programs: tuple[str, ...]
    caches: Mapping[str, str]
    """Variables that name folders to which the package runner writes."""
    quiet: Mapping[str, str]
    offline: Mapping[str, str]
    registries: tuple[str, ...]
    named_by: tuple[str, ...]

    def hosts(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        named = (word for name in self.named_by for word in environ.get(name, "").split())
        return tuple(dict.fromkeys((*self.registries, *filter(None, map(_host_of, named)))))

    def environ(self, cache: Path) -> dict[str, str]:
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
    name = Path(program.command).name
    return next((runner for runner in _RUNNERS if name in runner.programs), None)


def _host_of(url: str) -> str:
    """Return the host of an address. An index of uv may have a name in front of its address."""
    try:
        parts = urlsplit(url.rpartition("=")[2] if "://" in url.rpartition("=")[2] else url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    return f"[{host}]{port}" if ":" in host else f"{host}{port}" if host else ""


_WAY_OUT = "way-out"
_PACKAGES, _FETCHED, _SAW_THE_FOLDER = "packages", "fetched", "saw-the-folder"
_OF_THE_SYSTEM = frozenset(os.defpath.split(os.pathsep))
_FOLDERS_OF_PROGRAMS = frozenset({"bin", "sbin", "Scripts", "shims"})


class ServerConfiner(Struct, frozen=True, kw_only=True, eq=False):
    search: Callable[[Path], Awaitable[SandboxSearch]]
    cache: Path
    environ: Mapping[str, str]
    secrets_in: Callable[[Path], tuple[Path, ...]]
    """Returns files of a folder that often hold secrets. Blocks. Raises `ToolError` for too many entries."""
    secrets_beside: Callable[[Iterable[Path]], tuple[Path, ...]]
    resolve: Resolver = system_resolver

    @asynccontextmanager
    async def confining(
        self,
        program: Program,
        workspace: Path,
        command: Command,
        log: ServerLog,
        runner: ProcessRunner,
        *,
        may_download: bool = True,
        caches: tuple[str, ...] = (),
    ) -> AsyncGenerator[Command]:
        """Confine the command that runs the server, until exit. Raises `ServerError` if that is impossible.

        `caches` are variables that name folders of its own, which are deleted when it ends.
        """
        assert program.sandbox is not None
        kernel = await self._kernel(workspace)
        cache = await asyncio.to_thread(self._cache_of, program)
        run = _Run(
            kernel=kernel, limits=program.sandbox, workspace=workspace, cache=cache / _PACKAGES, log=log, caches=caches
        )
        packages = runner_of(program)
        if packages is None:
            async with self._confined(run, command) as confined:
                yield confined
            return
        command = replace(command, environ={**command.environ, **packages.environ(run.cache)})
        registries = packages.hosts(command.environ)
        is_there = not may_download or await self._is_fetched(cache, registries, run, command, runner)
        if not set(registries) & set(program.sandbox.hosts):
            command = replace(command, environ={**command.environ, **packages.offline})
        try:
            async with self._confined(run, command) as confined:
                yield confined
            if not is_there:  # it worked without the registry
                await asyncio.to_thread(make_private_file, cache / _FETCHED)
        except ServerError as error:
            if is_there or isinstance(error, NotTrustedError):
                raise
            title = f"{error.title} What {program.command} runs could not be downloaded, or fails by itself."
            hint = f"Its log says which. While it is downloaded it reaches {', '.join(registries)} and sees no files."
            raise ServerError(title, hint=hint, detail=error.detail) from error

    async def _is_fetched(
        self, cache: Path, registries: tuple[str, ...], run: "_Run", command: Command, runner: ProcessRunner
    ) -> bool:
        if not await asyncio.to_thread((cache / _FETCHED).exists):
            run.log.say(f"{command.argv[0]} downloads what it runs.")
            await asyncio.to_thread(_forget_the_folder, cache)
            is_fetched = await self._fetch(registries, run, command, runner)
            await asyncio.to_thread(make_private_file, cache / (_FETCHED if is_fetched else _SAW_THE_FOLDER))
            return is_fetched
        return True

    async def _kernel(self, workspace: Path) -> Sandbox:
        found = await self.search(workspace)
        if found.sandbox is None:
            why = next((report.reason for report in found.reports if report.reason), "")
            title = " ".join(filter(None, ("It must run in the sandbox, and this machine has none.", why)))
            raise ServerError(title, hint="`desktop-agent doctor` says what helps.")
        return found.sandbox

    async def _fetch(self, registries: tuple[str, ...], run: "_Run", command: Command, runner: ProcessRunner) -> bool:
        """Download the package by starting the server with empty input, which ends it. Return whether it succeeded."""
        alone = replace(run, limits=ServerSandbox(hosts=registries), workspace=run.cache, unseen=(run.workspace,))
        command = replace(command, cwd=run.cache, takes_input=False)
        async with self._confined(alone, command) as confined:
            try:
                child = await runner.start(confined, lambda _: None, run.log.feed)  # nothing speaks the protocol
            except OSError as error:
                raise ServerError(f"{command.argv[0]!r} could not be started: {error.strerror or error}.") from error
            try:
                await child.wait()
            finally:
                end = await child.end()
        return end.exit_code == 0

    @asynccontextmanager
    async def _confined(self, run: "_Run", command: Command) -> AsyncGenerator[Command]:
        async with AsyncExitStack() as until_it_ends:
            temp = await asyncio.to_thread(self._make_temp)
            until_it_ends.push_async_callback(asyncio.to_thread, shutil.rmtree, temp, ignore_errors=True)
            try:
                confined = await asyncio.to_thread(self._wrapped, run, command, temp)
                if run.limits.hosts:
                    hosts = AllowedHosts(run.limits.hosts)
                    proxy = HostProxy(hosts=hosts, environ=self.environ, say=run.log.say, resolve=self.resolve)
                    await until_it_ends.enter_async_context(proxy.serving(temp / _WAY_OUT))
            except (SandboxError, ToolError, ValueError) as error:
                title = f"It could not be confined, so it was not started: {error}"
                raise ServerError(title, hint=error.hint if isinstance(error, SandboxError) else "") from error
            yield confined

    def _wrapped(self, run: "_Run", command: Command, temp: Path) -> Command:
        """Return the command, wrapped in the sandbox. Blocks. Raises `SandboxError`, `ToolError` and `ValueError`."""
        hosts = run.limits.hosts
        environ = confined_environment(command.environ, self.environ) | (proxy_variables(hosts) if hosts else {})
        folders = tuple(folder_meant(text, run.workspace) for text in run.limits.folders)
        readable = tuple(folder_meant(text, run.workspace) for text in run.limits.read_folders)
        caches = {name: temp / name.lower() for name in run.caches}
        for path in caches.values():
            path.mkdir()
        environ |= {name: str(path) for name, path in caches.items()}
        writable = (run.cache, *caches.values(), *folders)
        programs = self._programs(command, run.workspace, writable)
        beside = tuple(dict.fromkeys(path.parent for path in programs if str(path.parent) not in _OF_THE_SYSTEM))
        # What a launcher starts is looked for beside it, too: the first line of what `npx` runs says `env node`.
        on_path = environ.get("PATH", os.defpath).split(os.pathsep)
        environ["PATH"] = os.pathsep.join(dict.fromkeys((*on_path, *map(str, beside))))
        spec = ConfinementSpec(
            workspace=run.workspace,
            is_workspace_writable=False,
            temp=temp,
            writable=writable,
            visible=(*readable, command.cwd, *self._chosen(command, programs, run.kernel)),
            search=tuple(folder for folder in beside if folder.name in _FOLDERS_OF_PROGRAMS),
            programs=programs,
            secrets_in=self.secrets_beside,
            hidden=run.unseen or self.secrets_in(run.workspace),
            way_out=_WAY_OUT if hosts else "",
        )
        return run.kernel.wrap(replace(command, environ=environ), spec)

    def _programs(self, command: Command, workspace: Path, writable: Iterable[Path]) -> tuple[Path, ...]:
        found = Path(shutil.which(command.argv[0], path=command.environ.get("PATH", os.defpath)) or command.argv[0])
        if not found.is_absolute():
            return ()
        theirs = Folders.of(real_path(path) for path in (workspace, *writable))
        return tuple(dict.fromkeys((found, *launching(found, theirs))))

    def _chosen(self, command: Command, programs: Iterable[Path], kernel: Sandbox) -> Iterator[Path]:
        for program in programs:
            if str(program) == command.argv[0] or not is_within(program.resolve(), kernel.guards.hidden):
                yield program

    def _cache_of(self, program: Program) -> Path:
        """Return the folder for a server's downloads. Blocks.

        It is shared only by servers that run the same with the same rights: a server can plant there what another runs.
        """
        words = (program.command, program.args, program.env, program.sandbox)
        content = msgspec.json.encode(words, order="deterministic")
        folder = self.cache / "packages" / blake2b(content, digest_size=8).hexdigest()
        make_private_folder(folder / _PACKAGES)
        return folder

    def _make_temp(self) -> Path:
        make_private_folder(self.cache)
        running = process_table()
        for left in self.cache.glob("tmp-*-*"):
            owner = left.name.split("-")[1]
            if owner.isdecimal() and int(owner) not in running:
                shutil.rmtree(left, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix=f"tmp-{os.getpid()}-", dir=self.cache))


def _forget_the_folder(cache: Path) -> None:
    """Delete the packages if a server that saw the open folder could write to them: the next one has a registry."""
    if (cache / _SAW_THE_FOLDER).exists():
        left = Path(tempfile.mkdtemp(prefix="left-", dir=cache))
        left.rmdir()
        (cache / _PACKAGES).rename(left)
        shutil.rmtree(left, ignore_errors=True)
        make_private_folder(cache / _PACKAGES)
        (cache / _SAW_THE_FOLDER).unlink()


class _Run(Struct, frozen=True, kw_only=True, eq=False):
    kernel: Sandbox
    limits: ServerSandbox
    workspace: Path
    cache: Path
    log: ServerLog
    caches: tuple[str, ...] = ()
    unseen: tuple[Path, ...] = ()
    """Paths that the server must not read. They replace the default list of the folder's secrets."""
