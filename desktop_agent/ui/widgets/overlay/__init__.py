"""What lies over other widgets of its window, without being a window of its own."""
