"""What git itself knows about a folder: its status, its files, its refs; and refs put back when lost."""
