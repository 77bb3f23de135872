"""data.fast."""
