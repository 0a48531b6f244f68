"""The tools of MCP servers as tools of a session: named, described, called, and kept up to date.

`session_servers` starts a session's servers and registers their tools. `mcp_tool` is one of these tools, and `results`
converts its answer. `search_tools` decides which definitions a request has, and finds the others. `asking_back` handles
what a server asks while its call runs. `core/mcp` speaks to the servers; `core/policy` decides whether a call may run.
"""
