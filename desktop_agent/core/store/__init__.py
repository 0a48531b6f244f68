"""Storage on disk: blobs, each session's journal, the lock that allows one writer, and the session list."""
