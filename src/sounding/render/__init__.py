"""Rendering of results: tables, HTML, and the style of charts."""
