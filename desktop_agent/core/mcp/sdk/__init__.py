"""The only modules that import the official SDK, which takes 1.2 s, when a server is first needed."""
