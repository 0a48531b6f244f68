"""Sandboxes: the kernel confines commands, so that a command can do what it needs and nothing else.

`find.find_sandbox` tries what this machine has: bubblewrap, else Landlock with a system call filter, else (macOS)
Seatbelt. `confinement.confinement_for` says what a mode lets a command do, `Sandbox.wrap` turns a command into the same
command confined, and `denial.denial_in` notices when a command ran into one.

Where a sandbox cannot enforce what is asked it refuses: nothing here runs a command less confined than asked, but
for `Confinement.hidden`, which only bubblewrap enforces.
"""
