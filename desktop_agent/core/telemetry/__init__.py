"""Telemetry: spans and metrics of sessions, folded from their events, for a receiver that the user names."""
