"""Every problem of a file at once."""
