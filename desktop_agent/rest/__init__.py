"""Sessions over HTTP: ops come in as JSON, events go out as server-sent events. `desktop-agent serve` starts it."""
