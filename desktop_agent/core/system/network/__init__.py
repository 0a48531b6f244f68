"""HTTP clients for models and web tools. Importing this package imports no HTTP library."""
