"""Spans and metrics as lines of OTLP's JSON in a file, one line an export. A full file makes room for a new one.

The format, which the collector reads: https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
"""

import base64
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from filelock import FileLock
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from desktop_agent.core.base.private_files import make_private_file, make_private_folder

_PATIENCE_S = 5
MOST_BYTES = 64 * 2**20
"""Of one file. Two earlier ones are kept, with `.1` and `.2` at the end of their names."""
_IDS = frozenset({"traceId", "spanId", "parentSpanId"})
"""Bytes, which OTLP's JSON has in hexadecimal and JSON of protobuf in base64."""


class SpanLines(SpanExporter):
    """Appends spans."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export a batch."""
        append_line(self._path, encode_spans(spans))
        return SpanExportResult.SUCCESS


class MetricLines(MetricExporter):
    """Appends metrics."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def export(self, metrics_data: MetricsData, timeout_millis: float = 0, **kwargs: object) -> MetricExportResult:
        """Export what was measured."""
        append_line(self._path, encode_metrics(metrics_data))
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 0) -> bool:
        """Return at once: nothing is kept here."""
        return True

    def shutdown(self, timeout_millis: float = 0, **kwargs: object) -> None:
        """Do nothing: nothing is kept here."""


def append_line(path: Path, message: Message) -> None:
    """Append what `message` says, whole, also when other processes append to the file. Raises `OSError`."""
    make_private_folder(path.parent)
    _make_room(path)
    fields = _with_hex_ids(MessageToDict(message, use_integers_for_enums=True))
    line = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    make_private_file(path)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def _make_room(path: Path) -> None:
    """Put a full file aside, once, whichever of several processes finds it full."""
    if not _is_full(path):
        return
    with FileLock(_beside(path, "lock"), timeout=_PATIENCE_S):
        if _is_full(path):
            with suppress(FileNotFoundError):
                _beside(path, "1").replace(_beside(path, "2"))
            path.replace(_beside(path, "1"))


def _is_full(path: Path) -> bool:
    try:
        return path.stat().st_size >= MOST_BYTES
    except FileNotFoundError:
        return False


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}.{ending}")


def _with_hex_ids(value: object) -> object:
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("Mapping[str, object]", value)
    return {
        name: base64.b64decode(item).hex() if name in _IDS and isinstance(item, str) else _with_hex_ids(item)
        for name, item in fields.items()
    }
