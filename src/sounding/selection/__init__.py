"""Which document to judge next: one protocol, all strategies, minimal test collections."""
