"""Keeps what the SDK logs of our exports out of the logs: it would say the same thing again with every export.

What it logs of others' exports in the same process, of a program that uses the library, goes where it always went.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from desktop_agent.core.telemetry.health import Health

_LOGGERS = (
    "opentelemetry.attributes",
    "opentelemetry.exporter.otlp.common.http",
    "opentelemetry.exporter.otlp.proto.http._common",
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk._shared_internal",
    "opentelemetry.sdk.metrics._internal.export",
    "opentelemetry.sdk.trace",
    "urllib3.connectionpool",
)
"""Filters do not hold for the loggers below one, so each is named."""

_watched: ContextVar[Health | None] = ContextVar("watched", default=None)


@contextmanager
def quiet(health: Health) -> Generator[None]:
    """Let `health` have, as a failure, what the SDK warns of in this thread, in place of the logs."""
    token = _watched.set(health)
    try:
        yield
    finally:
        _watched.reset(token)


def install() -> None:
    """Look at what the SDK logs. Doing it twice changes nothing."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_to_health)


def _to_health(record: logging.LogRecord) -> bool:
    health = _watched.get()
    if health is None:
        return True
    if record.levelno >= logging.WARNING:
        health.failed(record.getMessage())
    return False
