"""The inside of the sandbox: what runs in the child process, with the standard library only and few imports of it."""
