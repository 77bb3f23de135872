"""Write one page: who wins, whether to trust it, what is missing, what to do next.

gather computes, sections arranges tables and charts, sentences says it in words, terms explains words, page
writes HTML, Markdown, LaTeX or JSON.
"""

from sounding.core.verbs import make_verb

make_verb(__name__, "gather")
