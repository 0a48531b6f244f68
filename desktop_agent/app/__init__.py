"""The window as an application: `build` puts it together, `main` runs it.

The only part that knows every concrete class. The window is painted before the core is imported; see
`docs/architecture.md` for what that buys.
"""

from desktop_agent.app.startup.window import Window, build, main

__all__ = ["Window", "build", "main"]
