"""The one fixed function that a cluster's workers run. They find it by its name, so that no code is sent.

The task runs in its own process, with the keys in the environment or keyring of the worker.
"""

import asyncio
import json
import os

from distributed import get_worker
from msgspec import convert

from desktop_agent.cli.batch import WORKER
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.headless.batch.cluster import RemoteCall
from desktop_agent.headless.batch.local_workers import LocalWorkers, sweep
from desktop_agent.headless.batch.tasks import TaskOutcome, WorkerLostError

_LOOK_S = 0.5


async def run_task(text: str) -> str:
    """Run the task of a `RemoteCall` to its end and return a `RemoteReply`. Stop if the call is cancelled."""
    call = convert(json.loads(text), learned(RemoteCall))
    if call.version != __version__:
        words = f"desktop-agent is {__version__} on {get_worker().address}, and {call.version} where it was started."
        return json.dumps({"refused": words})
    workers = LocalWorkers(WORKER, os.environ, SystemClock())
    try:
        outcome = await _while_wanted(call, workers)
    except WorkerLostError as error:
        return json.dumps({"lost": f"{error} ({get_worker().address})"})
    finally:
        await workers.aclose()
        await asyncio.to_thread(sweep, AppPaths.from_environment(os.environ).cache / "batch")
    return json.dumps({"outcome": json.loads(outcome.line())})


async def _while_wanted(call: RemoteCall, workers: LocalWorkers) -> TaskOutcome:
    """Run the task, and stop it when its call is cancelled or the client has gone, because Dask does not."""
    running = asyncio.create_task(workers.run(call.task, call.max_cost), name=call.key)
    tasks = get_worker().state.tasks
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
