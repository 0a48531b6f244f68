"""Telemetry: spans and metrics of what sessions do, folded from their events, for a receiver that the user names.

Off unless the settings name a receiver or a file. `session_telemetry` listens to one session, `telemetry` is what the
sessions of a process share, `conventions` has every name. What needs the SDK of OpenTelemetry is in `sdk/` and imported
when it is first wanted.
"""
