"""Shared parts of all commands: options, refused values, completion, progress."""
