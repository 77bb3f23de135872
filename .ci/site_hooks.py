"""What the site adds to a page when it is built: the public names, as they are."""

from __future__ import annotations

from typing import Any

import sounding

PLACE = "<!-- the public names -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with a table of names where it asks for one."""
    return markdown.replace(PLACE, names_table())


def names_table() -> str:
    """Every public name with the first line of its documentation."""
    told = {name: (getattr(sounding, name).__doc__ or "").splitlines()[0] for name in sounding.__all__}
    rows = [f"| `{name}` | {line.replace('|', chr(92) + '|')} |" for name, line in told.items()]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])
