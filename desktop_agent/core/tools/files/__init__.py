"""Files as tools see them: found, listed, searched, read as text, and changed without touching other bytes."""
