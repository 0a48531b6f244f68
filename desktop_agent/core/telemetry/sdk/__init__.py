"""The side of the OpenTelemetry SDK: how events become spans and metrics, and how those leave the process."""
