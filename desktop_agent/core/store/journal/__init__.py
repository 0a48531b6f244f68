"""The journal of one session: its lines, their formats and places, read, written and followed."""
