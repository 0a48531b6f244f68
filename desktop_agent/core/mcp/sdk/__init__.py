"""Everything that uses the official SDK. Its import takes 1.2 s, so it waits until a server is first needed."""
