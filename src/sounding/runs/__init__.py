"""What runs retrieved: order and ties, numbering of documents, who was pooled and how deep."""
