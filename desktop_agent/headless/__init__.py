"""The headless runner: prompts in, a result and an exit code out. For scripts, CI and the library."""
