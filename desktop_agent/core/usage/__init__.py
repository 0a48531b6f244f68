"""Usage by tool, model, folder and day: folded from all journals, independently of telemetry."""
