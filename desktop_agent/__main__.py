"""`python -m desktop_agent` is the same as `desktop-agent`."""

import sys

from desktop_agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
