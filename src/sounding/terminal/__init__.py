"""What all commands share: options, values that are refused, completion, progress."""
