"""The official SDK's side: the only modules that import it (1.2 s), and so imported when the first server is needed."""
