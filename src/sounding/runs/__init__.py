"""Order what runs retrieved, number the documents, and find which runs were pooled and how deep."""
