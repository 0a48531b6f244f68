"""What git knows about a folder, asked of git itself: its status, its files, its refs; and refs put back when lost."""
