"""Where keys come from: the environment first, then the system's keyring."""
