"""The report: one page with all that is known of a collection and its runs.

gather computes, parts puts what was found into sections, summary says it in sentences, terms explains words,
render writes HTML, Markdown, LaTeX or JSON.
"""
