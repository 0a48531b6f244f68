"""What is kept on disk: blobs, the journal of each session, the lock that makes one writer, and the session list."""
