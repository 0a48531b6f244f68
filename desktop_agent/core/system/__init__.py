"""The operating system: files, child processes and their environment, git, the network."""
