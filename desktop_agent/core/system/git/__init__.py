"""What git itself knows about a folder: its status, its files and its refs. Also puts lost refs back."""
