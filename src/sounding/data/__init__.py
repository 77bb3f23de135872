"""Files to tables: the only place that knows how text becomes runs, qrels and topics."""
