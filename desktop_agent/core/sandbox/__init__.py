"""Sandboxes: the kernel confines a command to what it needs.

`find.find_sandbox` tries the sandboxes of this machine: bubblewrap, Landlock with a system call filter, and Seatbelt on
macOS. `confinement.confinement_for` defines what a mode allows, `Sandbox.wrap` confines a command, and
`denial.denial_in` detects that a sandbox stopped a command.

A sandbox that cannot enforce a `ConfinementSpec` refuses the command. The exception is `ConfinementSpec.hidden`, which
only bubblewrap enforces.
"""
