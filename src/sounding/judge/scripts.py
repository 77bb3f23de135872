"""Writing systems, as far as searching and marking words must tell them apart."""

from __future__ import annotations

import re

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # inside of [...]
# Thai, Lao, Myanmar, Khmer, kana, Han, Hangul: no blanks between words, or endings that stick to them.
UNSPACED = re.compile(f"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\uac00-\ud7af{HAN}]+")
# Accents, and the points of Hebrew and Arabic, which writers may leave out; inside of [...].
OPTIONAL = "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
