"""What `maestro codegen` is made of: jobs, prompts, checks of behaviour, real games, files."""
