"""The REST server, started by `desktop-agent serve`: a front end that submits ops and passes events on.

`server` listens, serves, and ends in order. `guard` stands before `application`, which has an `endpoint` for each
declaration in `session_endpoints`, `change_endpoints` and `tool_endpoints`. `open_sessions` holds the sessions that
this server has open.
"""
