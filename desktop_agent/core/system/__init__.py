"""The operating system: exact bytes on disk, child processes and their environment, git, the network."""
