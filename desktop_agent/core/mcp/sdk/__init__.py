"""The only modules that import the official SDK; imported when the first server is needed, because that takes 1.2 s."""
