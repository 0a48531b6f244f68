"""The model picker: every model of every account, searched by name."""
