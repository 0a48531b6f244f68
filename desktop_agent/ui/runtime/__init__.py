"""Keeps the window responsive: event loop, watchdog, garbage collection, first paint, throttled calls."""
