"""What the command line is made of: options, where answers come from, and how they are told."""
