"""Workers on a Dask cluster: each task is a call of one fixed function there, and only the task travels.

This is the one module that knows Dask, an optional dependency. Dask trusts all who hold a certificate of the cluster:
each of them may run programs on the workers.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, Protocol, Self, cast

from msgspec import UNSET, Struct, UnsetType, convert
from msgspec.structs import asdict

from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.package import __version__
from desktop_agent.headless.batch.cluster_address import TlsFiles, check_address, usable_files
from desktop_agent.headless.batch.outcome import TaskOutcome
from desktop_agent.headless.batch.tasks import BatchTask
from desktop_agent.headless.batch.workers import WorkerLostError

RemoteTask = Callable[[str], Awaitable[str]]
"""What workers run: a coroutine function of their own, from a `RemoteCall` to a `RemoteReply`, as JSON."""

_CONNECT_S = 20
_INSTALL = "Install it: `pip install 'desktop-agent[cluster]'`, here and where the workers run."


class RemoteCall(Struct, frozen=True, kw_only=True):
    """What is sent to a worker, as JSON."""

    version: str
    """Ours: the worker refuses a task of another."""
    key: str
    """The name of the call, by which the worker sees that it is wanted no more."""
    task: BatchTask
    max_cost: float | None


class RemoteReply(Struct, frozen=True, kw_only=True):
    """What comes back, as JSON: one of the three."""

    outcome: object | UnsetType = UNSET
    """A `TaskOutcome`."""
    lost: str = ""
    """Why the process that ran the task has gone without one."""
    refused: str = ""
    """Why this worker runs no task of this batch."""


class _Future(Protocol):
    def __await__(self) -> Any: ...
    def cancel(self, *, force: bool) -> Awaitable[None]: ...
    def release(self) -> None: ...


class _Client(Protocol):
    """What is used of `distributed.Client`, whose types are incomplete."""

    def submit(self, function: RemoteTask, call: str, *, key: str, pure: bool) -> _Future: ...
    def nthreads(self) -> Awaitable[Mapping[str, int]]: ...
    def close(self) -> Awaitable[None]: ...


def require_dask() -> None:
    """Load Dask, which takes a second. Raises `UsageError` where it is not installed."""
    try:
        import_module("distributed")
    except ImportError as error:
        raise UsageError("Batches on a cluster need Dask, which is not installed.", hint=_INSTALL) from error


class ClusterWorkers:
    """The workers of a running cluster. Tasks wait at its scheduler until one is free."""

    def __init__(self, client: _Client, address: str, function: RemoteTask) -> None:
        self._client = client
        self._address = address
        self._function = function

    @classmethod
    async def connect(cls, address: str, tls: TlsFiles, environ: Mapping[str, str], function: RemoteTask) -> Self:
        """Connect to a scheduler. Raises `UsageError` where that can never be, and `AgentError` if it fails."""
        check_address(address)
        security = await asyncio.to_thread(_security, address, tls, environ)
        from distributed import Client as DaskClient

        opening: Any = DaskClient(
            address, security=security, timeout=_CONNECT_S, asynchronous=True, set_as_default=False, name="batch"
        )
        try:
            client = cast("_Client", await opening)
        except (OSError, TimeoutError) as error:
            await opening.close()
            hint = "Is it running there, and do the certificates have the same authority?"
            raise AgentError(
                f"The scheduler {address} could not be reached.", hint=hint, detail=str(error.__cause__ or error)
            ) from error
        return cls(client, address, function)

    async def threads(self) -> int:
        """How many tasks the cluster runs at once as it is now."""
        return sum((await self._client.nthreads()).values())

    async def run(self, task: BatchTask, max_cost_usd: float | None) -> TaskOutcome:
        """Run a task on a worker. Raises `WorkerLostError`, and `AgentError` when no task of the batch can be run.

        Cancelling ends the task there within a second, and so does the end of this process.
        """
        key = f"desktop-agent-{secrets.token_hex(8)}"  # never used before: no result of another call is taken for it
        call = RemoteCall(version=__version__, key=key, task=task, max_cost=max_cost_usd)
        future = self._client.submit(self._function, json.dumps(_plain(call)), key=key, pure=False)
        try:
            reply = convert(json.loads(await self._answer(future)), learned(RemoteReply))
        finally:
            future.release()
        if reply.refused:
            raise AgentError(f"The cluster cannot run the batch: {reply.refused}", hint=_INSTALL)
        if reply.lost:
            raise WorkerLostError(reply.lost)
        return TaskOutcome.read(json.dumps(reply.outcome))

    async def aclose(self) -> None:
        """Leave the cluster, which goes on; what we still wanted of it is stopped."""
        await self._client.close()

    async def _answer(self, future: _Future) -> str:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            return await future
        except FutureCancelledError as error:
            hint = "Run the same command again when the scheduler is there: it goes on where it was."
            raise AgentError(
                f"The connection to the scheduler {self._address} broke off.", hint=hint, detail=str(error)
            ) from error
        except asyncio.CancelledError:
            await asyncio.shield(future.cancel(force=True))
            raise
        except KilledWorker as error:
            raise WorkerLostError(f"workers of the cluster died: {error}") from error
        except Exception as error:  # whatever a worker raised: it has not our module, or is broken
            raise AgentError(
                f"The cluster cannot run the batch: {type(error).__name__}: {error}", hint=_INSTALL
            ) from error


def _security(address: str, tls: TlsFiles, environ: Mapping[str, str]) -> object:
    """Return by what Dask is to connect. Blocks."""
    from distributed import Security

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what is lost is said by us
    if not address.startswith("tls:"):
        return None
    # Our own environment has lost what looks like a key by now, such as the path of one.
    config: Any = import_module("dask.config")  # its types are incomplete
    configured = config.collect(env=dict(environ))
    place = {"ca": "ca-file", "cert": "client.cert", "key": "client.key"}
    found = {name: config.get(f"distributed.comm.tls.{path}", None, config=configured) for name, path in place.items()}
    files = usable_files(tls, found)
    return Security(
        require_encryption=True,
        tls_ca_file=str(files.ca),
        tls_client_cert=str(files.cert),
        tls_client_key=None if files.key is None else str(files.key),
    )


def _plain(call: RemoteCall) -> dict[str, object]:
    return {**asdict(call), "task": asdict(call.task)}
