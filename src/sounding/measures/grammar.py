"""Parse the names of measures as users of ir_measures, trec_eval and ranx write them.

A name is looked up in this order, and the first vocabulary that has it decides:

1. trec_eval, complete or with parameters after `.` or `_`: `map`, `P`, `P.5,10`, `ndcg_cut_10`, `official`
2. ours, which is that of ir_measures: `nDCG@20`, `AP(rel=2)@100`, with aliases such as `MAP`
3. ranx, with a cut-off or a level: `ndcg@10`, `map@100-l2`, `rbp.95`

Names are case-sensitive. So `P`, `recall` and `success` alone stand for trec_eval's nine, nine and three
cut-offs, but `P@5` and `recall@5` for one; `rbp` is trec_eval's (p = 0.9), `RBP` is ours (p = 0.8) and
`rbp.95` is ranx's. A measure always prints as `str(measure)`, which parses to the same measure.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NoReturn

import numpy as np

from sounding.core.errors import DataError, SoundingError, UnknownNameError
from sounding.core.limits import check_finite
from sounding.measures import trec
from sounding.measures.registry import TWINS, Measure, definition, definitions
from sounding.runs.ranking import Intents, Judgments, Ranking, Sampling, Strata

# Other spellings of our names: aliases of ir_measures, and the assessment measures as in the papers.
ALIASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "MAP": ("AP", {}),
    "Precision": ("P", {}),
    "Recall": ("R", {}),
    "MRR": ("RR", {}),
    "RPrec": ("Rprec", {}),
    "NDCG": ("nDCG", {}),
    "BPref": ("Bpref", {}),
    **{twin: (name, {"assessed": True}) for name, twin in TWINS.items()},
    "MAA": ("AP", {"assessed": True}),
}

# ranx: the measure of the bare name, that of `@k` (None: none), and further parameters.
RANX: Mapping[str, tuple[str, str | None, Mapping[str, Any]]] = {
    "hits": ("NumRelRet", "NumRelRet", {}),
    "hit_rate": ("Success", "Success", {}),
    "precision": ("SetP", "P", {}),
    "recall": ("SetR", "R", {}),
    "f1": ("SetF", "F", {}),
    "r-precision": ("Rprec", None, {}),
    "mrr": ("RR", "RR", {}),
    "map": ("AP", "AP", {}),
    "dcg": ("DCG", "DCG", {}),
    "dcg_burges": ("DCG", "DCG", {"dcg": "exp-log2"}),
    "ndcg": ("nDCG", "nDCG", {}),
    "ndcg_burges": ("nDCG", "nDCG", {"dcg": "exp-log2"}),
    "bpref": ("Bpref", None, {}),
}
# Patterns are compiled on first use, because most evaluations need few of them.
_RANX = (
    rf"({'|'.join(map(re.escape, sorted(RANX, key=len, reverse=True)))})"
    r"(?:@([0-9]{1,15}))?(?:-l([0-9]{1,3}))?"
)
_RANX_RBP = r"rbp[.@]([0-9]{1,15})(?:-l([0-9]{1,3}))?"

_HEAD = r"[^\W\d]\w*(?=\s*[(@]|\s*\Z)"
_WORD = r"[\w-]+"
# How a text sets a level of relevance: AP(rel=2), or map-l2 in ranx.
_OWN_LEVEL = r"\brel\s*=|-l[0-9]+\s*\Z"
_SEPARATOR = r"[\s,;]"
_TOKEN = re.compile(
    r"""\s*(?: (?P<number>[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})
                          (?:[eE][+-]?[0-9]{1,3})?)(?![\w.])
             | (?P<text>'[^'\\\n]*'|"[^"\\\n]*")
             | (?P<word>[^\W\d]\w*)
             | (?P<mark>[(){}=:,@])
             | (?P<end>\Z) )""",
    re.VERBOSE,
)
_CONSTANTS: Mapping[str, Any] = {"True": True, "False": False, "None": None}


def parse(text: Any) -> Measure:
    """Parse the one measure that a text, or an object of ir_measures, names."""
    if isinstance(text, Measure):
        return text
    text = _own_text(text)
    if not isinstance(text, str):
        raise DataError(_no_measure(text))
    measures = _expand(text)
    if len(measures) != 1:
        raise DataError(
            f"{_quote(text)} means {len(measures)} measures; name one of them, such as {measures[-1]}"
        )
    return measures[0]


def named_measures(measures: Any) -> list[str | Measure]:
    """Return the measures that a user gave as a list of texts and `Measure`s.

    All commands and functions read their measures through this function: one or several texts, `Measure`s or
    measures of ir_measures.
    """
    single = isinstance(measures, str | Measure) or _is_from_ir_measures(measures)
    if not single and not isinstance(measures, Iterable):
        raise DataError(_no_measure(measures))
    given = [_own_text(text) for text in ([measures] if single else measures)]
    for text in given:
        if not isinstance(text, str | Measure):
            raise DataError(_no_measure(text))
    return given


def _is_from_ir_measures(value: Any) -> bool:
    """Return whether this is a measure of ir_measures; only if that package is already imported."""
    package = sys.modules.get("ir_measures")
    return package is not None and isinstance(value, package.measures.Measure)


def _own_text(value: Any) -> Any:
    return str(value) if _is_from_ir_measures(value) else value


def parse_measures(texts: Any, *, level: float = 1) -> tuple[Measure, ...]:
    """Parse all measures that texts name, each once, in order; `Measure`s are taken as they are.

    `level` is the lowest relevant grade of those whose text sets none, like `trec_eval -l`.

    A trec_eval name with parameters replaces the same name within a nickname, as in trec_eval: all_trec and
    relstring.20 give one relstring.
    """
    check_finite("level", level)
    given = named_measures(texts)
    spelled_out = {
        name for text in given if isinstance(text, str) and (name := trec.name_with_parameters(text.strip()))
    }
    found: dict[Measure, None] = {}
    for text in given:
        if isinstance(text, Measure):
            found[text] = None
        else:
            named = trec.nickname(text.strip(), spelled_out) or _expand(text)
            # A measure omits defaults, so only the text shows whether a level of 1 was written.
            own = re.search(_OWN_LEVEL, text) is not None
            found.update(dict.fromkeys(named if own else (trec.with_level(one, level) for one in named)))
    return tuple(found)


def _no_measure(value: object) -> str:
    return f"{_quote(value)} is no measure; expected a text such as nDCG@10, or a list of texts"


def _expand(text: str) -> tuple[Measure, ...]:
    stripped = text.strip()
    try:
        found = (
            _parse_ranx_rbp(stripped)
            or trec.expand(stripped)
            or _parse_own(stripped)
            or _parse_ranx(stripped)
        )
        for measure in found or ():
            if not measure.definition.pairwise:
                measure(_no_topics())  # the kernel refuses invalid parameters here, before files are read
    except UnknownNameError:
        raise
    except DataError as problem:
        raise DataError(f"measure {_quote(text)}: {problem}") from None
    if found is None:
        raise _unknown(stripped)
    return found


@cache
def _no_topics() -> Ranking:
    """Return an empty ranking, on a scale that holds every grade a parameter may name."""
    whole, real = np.empty(0, np.int64), np.empty(0)
    judgments = Judgments(
        topics=(), starts=np.zeros(1, np.int64), grades=real, pool_ranks=whole, pooled=whole, highest=1000.0,
        sampling=Sampling(strata=Strata(whole, whole, np.zeros(1, np.int64)), probabilities=real),
        intents=Intents(np.zeros(1, np.int64), whole, real, whole),
    )  # fmt: skip
    return Ranking(
        run="", judgments=judgments, topic=whole, rank=whole, grade=real, retrieved=whole,
        missing=np.empty(0, np.bool_), pooled_topic=whole, pooled_rank=whole,
        judgment=whole, pooled_stratum=whole,
    )  # fmt: skip


def _parse_own(text: str) -> tuple[Measure] | None:
    """Parse a measure in our own notation, which is that of ir_measures."""
    head = re.match(_HEAD, text)
    if head is None:
        return None
    name, preset = ALIASES.get(head[0], (head[0], {}))
    if name not in {known.name for known in definitions()}:
        return None
    return (_Reader(text, head.end()).measure(name, preset),)


def _parse_ranx_rbp(text: str) -> tuple[Measure] | None:
    """Parse RBP as ranx writes it, with p after a dot or @; tried before trec_eval's rbp.p=0.95."""
    spelled = re.fullmatch(_RANX_RBP, text)
    if spelled is None:
        return None
    level = {} if spelled[2] is None else _ranx_level("RBP", int(spelled[2]))
    return (Measure.of("RBP", p=float(f"0.{spelled[1]}"), **level),)


def _parse_ranx(text: str) -> tuple[Measure] | None:
    """Parse a measure as ranx writes it: name, @k, -l and the lowest relevant grade."""
    spelled = re.fullmatch(_RANX, text)
    if spelled is None:
        return None
    bare, cut, parameters = RANX[spelled[1]]
    name = bare if spelled[2] is None else cut
    if name is None:
        raise DataError(f"{spelled[1]} takes no cut-off here")
    chosen = dict(parameters)
    if spelled[2] is not None:
        chosen["k"] = int(spelled[2])
    if spelled[3] is not None:
        chosen |= _ranx_level(name, int(spelled[3]))
    return (Measure.of(name, **chosen),)


def _ranx_level(name: str, level: int) -> dict[str, Any]:
    """Translate ranx's -l; in measures that use grades, lower grades gain nothing."""
    if definition(name).takes("gains"):
        return {"gains": dict.fromkeys(range(1, level), 0)}
    return {"rel": level}


class _Reader:
    """Parse what follows a measure's name: (parameter=value, ...) and @value."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self.advance()

    def advance(self) -> None:
        """Move to the next token."""
        found = _TOKEN.match(self.text, self.position)
        if found is None:
            rest = self.text[self.position :].strip()
            raise DataError(f"cannot read {_quote(rest)}")
        self.kind = str(found.lastgroup)
        self.token = found[self.kind]
        self.begin = found.start(self.kind)
        self.position = found.end()

    def take(self, mark: str) -> bool:
        """Return whether the next token is this mark; if so, move past it."""
        if self.kind != "mark" or self.token != mark:
            return False
        self.advance()
        return True

    def measure(self, name: str, preset: Mapping[str, Any]) -> Measure:
        """Parse the rest of the measure."""
        at = definition(name).at
        chosen = dict(preset)
        if self.take("("):
            while not self.take(")"):
                key = self.parameter(name)
                self.add(chosen, at if key == "cutoff" else key, self.value(f"{key}="))
                if not self.take(",") and (self.kind, self.token) != ("mark", ")"):
                    self.refuse("a comma or )")
        if self.take("@"):
            self.add(chosen, at, self.scalar("@"))
        if self.kind != "end":
            raise DataError(_surplus_message(self.text[: self.begin], self.text[self.begin :]))
        return Measure.of(name, **chosen)

    def parameter(self, name: str) -> str:
        """Parse a parameter's name and the = after it."""
        key = self.token
        if self.kind != "word":
            self.refuse(f"a parameter such as {next(iter(definition(name).parameters), 'judged_only')}=")
        self.advance()
        if not self.take("="):
            self.refuse(f"= after {key}")
        return key

    def value(self, after: str) -> Any:
        """Parse a scalar or a table {grade: gain, ...}."""
        if not self.take("{"):
            return self.scalar(after)
        table: dict[Any, Any] = {}
        while not self.take("}"):
            key = self.scalar("{ or a comma")
            if not self.take(":"):
                self.refuse("a colon")
            table[key] = self.scalar("the colon")
            if not self.take(",") and (self.kind, self.token) != ("mark", "}"):
                self.refuse("a comma or }")
        return table

    def scalar(self, after: str) -> Any:
        """Parse a number, a quoted text, True, False or None."""
        kind, token = self.kind, self.token
        if kind == "number":
            self.advance()
            return int(token) if re.fullmatch("[+-]?[0-9]+", token) else float(token)
        if kind == "text":
            self.advance()
            return token[1:-1]
        if kind == "word" and token in _CONSTANTS:
            self.advance()
            return _CONSTANTS[token]
        return self.refuse(f"a value after {after}")

    def add(self, chosen: dict[str, Any], key: str, value: Any) -> None:
        """Store a parameter's value; refuse a second one."""
        if key in chosen:
            raise DataError(f"{key} is given twice")
        chosen[key] = value

    def refuse(self, wanted: str) -> NoReturn:
        """Raise an error that says what was expected and what was found."""
        seen = "nothing" if self.kind == "end" else _quote(self.token)
        raise DataError(f"expected {wanted}, found {seen}")


def _unknown(text: str) -> SoundingError:
    """Return the error for a text that starts with no known name, or continues in an invalid way."""
    word = re.match(_WORD, text)
    if word is None:
        return DataError(f"measure {_quote(text)}: a measure starts with its name, as in nDCG@10")
    name = word[0]
    end = re.search(_SEPARATOR, text)
    if end is not None and _is_read(text[: end.start()]):
        return DataError(
            f"measure {_quote(text)}: {_surplus_message(text[: end.start()], text[end.start() :])}"
        )
    if name in trec.TREC_NAMES and name not in RANX:
        return DataError(
            f"measure {_quote(text)}: parameters of trec_eval's names follow a dot, as in P.5,10"
        )
    if name in RANX:
        return DataError(f"measure {_quote(text)}: after {name} stands @ and a whole number, as in map@10")
    ours = [known.name for known in definitions()]
    folded = {other.lower() for other in ours}
    others = [*ALIASES, *trec.TREC_NAMES, *RANX]
    error = UnknownNameError("measure", name, [*ours, *(o for o in others if o.lower() not in folded)])
    return error if error.suggestions else UnknownNameError("measure", name, ours)


def _is_read(text: str) -> bool:
    """Return whether a text alone names measures."""
    try:
        return bool(_expand(text))
    except SoundingError:
        return False


def _surplus_message(measure: str, rest: str) -> str:
    """Return the message for text after a complete measure."""
    return (
        f"expected one measure, found {_quote(rest.strip())} after {_quote(measure.strip())};"
        " give each measure a text, or a -m, of its own"
    )


def _quote(text: object) -> str:
    """Return the text in quotes, on one line, and cut if it is long."""
    if not isinstance(text, str):
        return _quote(repr(text))[1:-1]
    return repr(text if len(text) <= 60 else f"{text[:60]}...")


def single_measure(text: str | Measure) -> Measure | None:
    """Return the one measure that a text names; None if it names several or none."""
    try:
        found = parse_measures([text])
    except SoundingError:
        return None
    return found[0] if len(found) == 1 else None
