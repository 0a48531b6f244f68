"""Telemetry: spans and metrics of what sessions do, folded from their events, for a receiver that the user names.

Off unless the settings name a receiver or a file; the SDK of OpenTelemetry is imported on first use.
"""
