"""What a bot does: handlers by name, what they are given, and what becomes of a run."""
