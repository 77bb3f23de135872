"""A language that nobody speaks: English in Arabic letters, written from right to left."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sounding.judge.language import LANGUAGES, Forms, Language

_ARABIC = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ابكدعفغهيجكلمنوبقرستوفوخيز")
_KEPT = re.compile(r"(<[^<>]*>|\{\w+\})")


def in_arabic_letters(text: str) -> str:
    """Return a text with its places and markup as they are."""
    parts = _KEPT.split(text)
    parts[::2] = [part.lower().translate(_ARABIC) for part in parts[::2]]
    return "".join(parts)


def pseudo_arabic() -> Language:
    """Return a language with every text of the German catalogue."""

    def formed(one: str, forms: Forms) -> Forms:
        return (
            in_arabic_letters(one) if isinstance(forms, str) else dict.fromkeys(forms, in_arabic_letters(one))
        )

    known: Mapping[str, Forms] = LANGUAGES["de"].texts
    texts = {one: formed(one, forms) for one, forms in known.items()}
    return Language(code="ar", name="العربية", direction="rtl", texts=texts)
