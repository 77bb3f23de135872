"""Recognize passwords that anybody would try first."""

from __future__ import annotations

import re
from collections.abc import Set
from itertools import chain

from sounding.judge.language import marked

_ROWS = (
    "abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop",
    "yxcvbnm", "azertyuiop", "qsdfghjklm", "1q2w3e4r5t6y7u8i9o0p", "1qaz2wsx3edc4rfv5tgb6yhn",
)  # fmt: skip
_WORDS = {
    "access", "account", "admin", "administrator", "amazing", "angel", "apple", "assessor", "august",
    "autumn", "banana", "baseball", "basketball", "batman", "beautiful", "bonjour", "butterfly",
    "cheese", "chocolate", "computer", "cookie", "default", "diamond", "dragon", "family", "flower",
    "football", "forever", "freedom", "friend", "galaxy", "google", "guest", "hallo", "hello", "hockey",
    "iloveyou", "internet", "judge", "judging", "judgement", "judgment", "killer", "letmein", "liebe",
    "linux", "liverpool", "login", "love", "lovely", "master", "mein", "michael", "monkey", "mustang",
    "mypassword", "ninja", "orange", "organizer", "passwd", "passwort", "password", "pepper", "pokemon",
    "princess", "qwerty", "qwertz", "rainbow", "relevance", "retrieval", "root", "samsung", "schatz",
    "secret", "server", "shadow", "soccer", "sommer", "sounding", "spring", "starwars", "student",
    "summer", "sunday", "sunshine", "superman", "superuser", "system", "teacher", "test", "thunder",
    "trec", "trustno", "user", "welcome", "whatever", "willkommen", "winter", "yellow", "you",
}  # fmt: skip
_LETTERS = str.maketrans("013457@$!|", "oleastasil")  # digits and signs that stand for letters
_RUN = 4  # characters of a row that make a sequence
FEWEST = 5  # different characters of a password
FEW = 6  # characters that may stand beside common words, as in password-2026!
MOST_WORDS = 2  # common words; three or more may be a good passphrase


def why_common(password: str, name: str = "") -> str:
    """Return why many people would guess a password; empty if they would not. `name` is the user's."""
    folded = password.casefold()
    if len(set(folded)) < FEWEST or re.fullmatch(r"(.{1,5}?)\1+", folded, re.DOTALL):
        return marked("this password repeats a few characters")
    if len(_without_sequences(folded)) < _RUN:
        return marked("this password is a sequence of keys")
    own = {word for word in re.split(r"[\W\d_]+", name.casefold()) if len(word) > MOST_WORDS}
    for words, why in (
        (own, marked("this password is the name of the user")),
        (own | _WORDS, marked("this password is one of the most common ones")),
    ):
        if any(_is_made_of(text, words) for text in (folded, folded.translate(_LETTERS))):
            return why
    return ""


def _is_made_of(text: str, words: Set[str]) -> bool:
    """Return whether a text is one or two of these words, with few other characters."""
    found = 0
    for word in sorted(words, key=len, reverse=True):
        if word in text:
            found += 1
            text = text.replace(word, "")
    return 1 <= found <= MOST_WORDS and len(text) <= FEW


def _without_sequences(text: str) -> str:
    """Remove all parts that stand in one row of keys, the alphabet or the digits, in either direction."""
    place, rest = 0, []
    while place < len(text):
        length = max(_along(text[place:], row) for row in chain(_ROWS, (row[::-1] for row in _ROWS)))
        if length >= _RUN:
            place += length
        else:
            rest.append(text[place])
            place += 1
    return "".join(rest)


def _along(text: str, row: str) -> int:
    """Return how many characters a text and a row share, from the first character of the text on."""
    start = row.find(text[0])
    if start < 0:
        return 0
    length = 1
    while text[length : length + 1] and text[length] == row[start + length : start + length + 1]:
        length += 1
    return length
