"""A receiver of OTLP over HTTP on loopback that decodes with the protocol's own classes."""

import gzip
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from msgspec import Struct
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, NumberDataPoint
from opentelemetry.proto.trace.v1.trace_pb2 import Span

Value = str | bool | int | float | list["Value"]


class ReceivedSpan(Struct, frozen=True):
    name: str
    id: bytes
    trace: bytes
    parent: bytes
    start_ns: int
    end_ns: int
    attributes: dict[str, Value]
    is_error: bool


class Point(Struct, frozen=True):
    """A metric's value for one set of attributes: of a counter or gauge, or a histogram's sum and count."""

    attributes: dict[str, Value]
    value: float
    count: int


class OtlpReceiver:
    """The received telemetry. `status` is the answer; while `gate` is not set, there is no answer."""

    def __init__(self) -> None:
        self.status = 200
        self.gate = threading.Event()
        self.gate.set()
        self.arrived = threading.Event()
        self.url = ""
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self._traces: list[ExportTraceServiceRequest] = []
        self._metrics: list[ExportMetricsServiceRequest] = []

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        self.arrived.set()
        self.gate.wait()
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.bodies.append(body)
        self.headers.append(headers)
        if self.status == 200:
            match path:
                case "/v1/traces":
                    self._traces.append(ExportTraceServiceRequest.FromString(body))
                case "/v1/metrics":
                    self._metrics.append(ExportMetricsServiceRequest.FromString(body))
                case _:
                    return 404
        return self.status

    @property
    def spans(self) -> list[ReceivedSpan]:
        found = [
            span
            for request in self._traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        return [_plain(span) for span in sorted(found, key=lambda span: span.end_time_unix_nano)]

    @property
    def resources(self) -> list[dict[str, Value]]:
        traces = [_attributes(each.resource.attributes) for request in self._traces for each in request.resource_spans]
        metrics = [
            _attributes(each.resource.attributes) for request in self._metrics for each in request.resource_metrics
        ]
        return [*traces, *metrics]

    @property
    def schema_urls(self) -> set[str]:
        return {
            scope.schema_url
            for request in self._traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
        }

    @property
    def metrics(self) -> dict[str, Metric]:
        return {
            metric.name: metric
            for request in self._metrics
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def points(self, name: str) -> list[Point]:
        metric = self.metrics.get(name)
        if metric is None:
            return []
        histograms = [
            Point(_attributes(point.attributes), point.sum, point.count) for point in metric.histogram.data_points
        ]
        numbers = [*metric.sum.data_points, *metric.gauge.data_points]
        return [*histograms, *(Point(_attributes(each.attributes), _number(each), 1) for each in numbers)]

    def value(self, name: str, **attributes: Value) -> float:
        return sum(each.value for each in self.points(name) if attributes.items() <= each.attributes.items())


@contextmanager
def otlp_receiver() -> Generator[OtlpReceiver]:
    receiver = OtlpReceiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(receiver.take(self.path, headers, body))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the library has
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _plain(span: Span) -> ReceivedSpan:
    return ReceivedSpan(
        name=span.name,
        id=span.span_id,
        trace=span.trace_id,
        parent=span.parent_span_id,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        attributes=_attributes(span.attributes),
        is_error=span.status.code == 2,
    )


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Value]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Value:
    match value.WhichOneof("value"):
        case "bool_value":
            return value.bool_value
        case "int_value":
            return value.int_value
        case "double_value":
            return value.double_value
        case "array_value":
            return [_value(item) for item in value.array_value.values]
        case _:
            return value.string_value


def _number(point: NumberDataPoint) -> float:
    return point.as_int if point.WhichOneof("value") == "as_int" else point.as_double
