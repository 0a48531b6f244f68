"""The tools of MCP servers as tools of a session: named, described, called, and kept up while servers come and go.

`session_servers` starts a session's servers and registers what they offer; `mcp_tool` is one tool of them, compared
with what the user allowed, and `results` what its answer comes to. `search_tools` says which definitions a request has,
and finds the others. `asking_back` is what a server may ask while its call runs.

Who speaks to a server is `core/mcp`; whether a call may run is `core/policy`.
"""
