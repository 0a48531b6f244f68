"""What keeps the window quick: the event loop, the watchdog, garbage collection, the first paint, calls held back."""
