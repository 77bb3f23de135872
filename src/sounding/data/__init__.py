"""Read files into tables: only this folder knows how text becomes runs, qrels and topics."""
