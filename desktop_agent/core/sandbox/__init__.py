"""Sandboxes: the kernel confines a command to what it needs and nothing else.

`find.find_sandbox` tries the sandboxes that this machine may have, in this order: bubblewrap, Landlock with a system
call filter, and (on macOS) Seatbelt. `confinement.confinement_for` defines what a mode lets a command do,
`Sandbox.wrap` turns a command into its confined form, and `denial.denial_in` detects that a sandbox stopped a command.

A sandbox that cannot enforce what is asked refuses the command, because nothing here runs a command less confined than
asked. The exception is `ConfinementSpec.hidden`, which only bubblewrap enforces.
"""
