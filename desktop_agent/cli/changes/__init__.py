"""`desktop-agent changes`: what a session changed, and the way back and forth."""
