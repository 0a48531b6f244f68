"""Workers on a Dask cluster, an optional dependency. Each task is a call of one fixed function there.

Whoever holds a certificate of the cluster may run programs on its workers. Nothing goes to the scheduler unencrypted.
"""

import asyncio
import json
import logging
import os
import secrets
import ssl
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from msgspec import UNSET, Struct, UnsetType, convert
from msgspec.structs import asdict

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.web_address import is_loopback
from desktop_agent.headless.batch.local_workers import LocalWorkers, sweep
from desktop_agent.headless.batch.tasks import BatchTask, TaskOutcome, WorkerLostError

_DASKS_OWN = "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …TLS__CLIENT__CERT and …TLS__CLIENT__KEY"


class TlsFiles(Struct, frozen=True, kw_only=True):
    """Files in PEM format. `None`: the file that Dask's own configuration names."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    """The private key of `cert`. One file can hold both."""


def check_address(address: str) -> None:
    """Raise `UsageError` for an address to which others could read or change requests."""
    hint = "Start the scheduler with TLS, and name it as tls://host:8786."
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"The scheduler's address {address!r} is malformed: {error}.", hint=hint) from error
    if parts.scheme not in ("tls", "tcp") or not host:
        raise UsageError(f"{address!r} is no address of a scheduler.", hint=hint)
    if parts.scheme == "tcp" and not is_loopback(host):
        raise UsageError(
            f"{address} is not encrypted: anyone on the way could read the tasks and run programs on the workers.",
            hint=hint,
        )


def usable_files(named: TlsFiles, configured: Mapping[str, str | None]) -> TlsFiles:
    """Return the `named` files, or else those of Dask's configuration. Blocks. Raises `UsageError`."""
    paths = {name: getattr(named, name) or configured[name] for name in ("ca", "cert", "key")}
    for name in ("ca", "cert"):
        if not paths[name]:
            hint = f"Name it with --tls-{name}, or in Dask's own configuration ({_DASKS_OWN})."
            raise UsageError(f"A tls:// scheduler needs a certificate that is not named: {name}.", hint=hint)
    files = TlsFiles(**{name: Path(path).expanduser() for name, path in paths.items() if path})
    try:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=files.ca)
        assert files.cert is not None
        # A key with a password would be asked for on the terminal.
        context.load_cert_chain(files.cert, files.key, password=_no_password)
    except (OSError, ValueError) as error:  # `SSLError` is an `OSError`
        names = ", ".join(str(path) for path in (files.ca, files.cert, files.key) if path is not None)
        hint = "They must be PEM files, and the key that of the certificate, without a password."
        raise UsageError(f"The certificates cannot be used: {names}.", hint=hint, detail=str(error)) from error
    return files


def _no_password() -> str:
    raise ValueError("the key has a password")


_CONNECT_S = 20
_INSTALL = "Install it: `pip install 'desktop-agent[cluster]'`, here and where the workers run."


class RemoteCall(Struct, frozen=True, kw_only=True):
    version: str
    """The version of this application. A worker refuses a task from another version."""
    key: str
    task: BatchTask
    max_cost: float | None


class RemoteReply(Struct, frozen=True, kw_only=True):
    """The reply: exactly one of `outcome`, `lost` and `refused`."""

    outcome: object | UnsetType = UNSET
    lost: str = ""
    refused: str = ""


def _require_dask() -> None:
    """Load Dask, which takes a second. Raises `UsageError` where it is not installed."""
    try:
        import_module("distributed")
    except ImportError as error:
        raise UsageError("Batches on a cluster need Dask, which is not installed.", hint=_INSTALL) from error


class ClusterWorkers:
    """The workers of a running cluster. Tasks wait at its scheduler until a worker is free."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address

    @classmethod
    async def connect(cls, address: str, tls: TlsFiles, environ: Mapping[str, str]) -> Self:
        """Connect to a scheduler. Raises `UsageError` for options that can never work, or `AgentError` if it fails."""
        check_address(address)
        await asyncio.to_thread(_require_dask)
        security = await asyncio.to_thread(_security, address, tls, environ)
        from distributed import Client as DaskClient

        opening: Any = DaskClient(
            address, security=security, timeout=_CONNECT_S, asynchronous=True, set_as_default=False, name="batch"
        )
        try:
            client: Any = await opening
        except (OSError, TimeoutError) as error:
            await opening.close()
            hint = "Is it running there, and do the certificates have the same authority?"
            raise AgentError(
                f"The scheduler {address} could not be reached.", hint=hint, detail=str(error.__cause__ or error)
            ) from error
        return cls(client, address)

    async def threads(self) -> int:
        return sum((await self._client.nthreads()).values())

    async def run(self, task: BatchTask, max_cost_usd: float | None) -> TaskOutcome:
        """Run a task on a worker. Raises `WorkerLostError`, and `AgentError` when no task of the batch can be run.

        If this is cancelled, or this process ends, the task on the worker ends within a second.
        """
        key = f"desktop-agent-{secrets.token_hex(8)}"  # never used before, so no other result is taken for it
        call = RemoteCall(version=__version__, key=key, task=task, max_cost=max_cost_usd)
        sent = json.dumps({**asdict(call), "task": asdict(task)})
        future = self._client.submit(run_task, sent, key=key, pure=False)
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
        """Leave the cluster, which continues. The unfinished tasks of this batch are stopped."""
        await self._client.close()

    async def _answer(self, future: Any) -> str:
        from distributed import KilledWorker, client

        try:
            return await future
        except client.FutureCancelledError as error:
            hint = "Run the same command again when the scheduler is there: it continues where it stopped."
            raise AgentError(
                f"The connection to the scheduler {self._address} broke off.", hint=hint, detail=str(error)
            ) from error
        except asyncio.CancelledError:
            await asyncio.shield(future.cancel(force=True))
            raise
        except KilledWorker as error:
            raise WorkerLostError(f"workers of the cluster died: {error}") from error
        except Exception as error:  # whatever a worker raised: it lacks our module, or is broken
            raise AgentError(
                f"The cluster cannot run the batch: {type(error).__name__}: {error}", hint=_INSTALL
            ) from error


def _security(address: str, tls: TlsFiles, environ: Mapping[str, str]) -> object:
    from distributed import Security

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what is lost is said by us
    if not address.startswith("tls:"):
        return None
    # By now our own environment lacks whatever looks like a key, such as the path of one.
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


_LOOK_S = 0.5


async def run_task(text: str) -> str:
    """Run the task of a `RemoteCall` to its end and return a `RemoteReply`. Stop if the call is cancelled.

    This is the one function that a cluster's workers run. They find it by its name, so that no code is sent. The task
    runs in its own process, with the keys in the environment or keyring of the worker.
    """
    from distributed import get_worker

    call, worker = convert(json.loads(text), learned(RemoteCall)), get_worker()
    if call.version != __version__:
        words = f"desktop-agent is {__version__} on {worker.address}, and {call.version} where it was started."
        return json.dumps({"refused": words})
    workers = LocalWorkers(os.environ, SystemClock())
    try:
        outcome = await _while_wanted(call, workers, worker.state.tasks)
    except WorkerLostError as error:
        return json.dumps({"lost": f"{error} ({worker.address})"})
    finally:
        await workers.aclose()
        await asyncio.to_thread(sweep, AppPaths.from_environment(os.environ).cache / "batch")
    return json.dumps({"outcome": json.loads(outcome.line())})


async def _while_wanted(call: RemoteCall, workers: LocalWorkers, tasks: Mapping[Any, Any]) -> TaskOutcome:
    """Run the task, and stop it when its call is cancelled or the client has gone, because Dask does not."""
    running = asyncio.create_task(workers.run(call.task, call.max_cost), name=call.key)
    try:
        while not running.done():
            known = tasks.get(call.key)
            if known is None or known.state != "executing":
                raise WorkerLostError("the task was stopped")
            await asyncio.wait([running], timeout=_LOOK_S)
        return running.result()
    finally:
        running.cancel()
        await asyncio.wait([running])
