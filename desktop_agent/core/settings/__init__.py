"""Settings: declared once with their types, defaults and words, read from TOML, immutable."""
