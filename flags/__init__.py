"""The commands, one file per command: flags become configs, one call does the work."""
