"""The flags of each command, one file a command, and one for what they share."""
