"""The agent of an editor, over real pipes. The protocol's published schema judges every message of both sides."""
