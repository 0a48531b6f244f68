"""One module per command of `desktop-agent`. `cli.py` has the tree and imports a module only when it is called."""
