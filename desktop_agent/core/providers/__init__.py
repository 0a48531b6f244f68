"""Model providers: one module for each wire format, and the scripted demo model. Import no HTTP client."""
