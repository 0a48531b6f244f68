"""Sandboxes: the kernel confines a command to what it needs and nothing else.

`find.find_sandbox` tries what this machine has: bubblewrap, else Landlock with a system call filter, else (macOS)
Seatbelt. `confinement.confinement_for` defines what a mode lets a command do, `Sandbox.wrap` turns a command into its
confined form, and `denial.denial_in` detects that a sandbox stopped a command.

A sandbox that cannot enforce what is asked refuses: nothing here runs a command less confined than asked, except for
`Confinement.hidden`, which only bubblewrap enforces.
"""
