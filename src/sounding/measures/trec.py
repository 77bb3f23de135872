"""The measures of trec_eval as data: their names, parameters and output format, in output order.

Used in both directions: `expand` returns our measures for a name such as `P.5,10` or `official`, and
`trec_name` returns the name that trec_eval prints for one of ours. The order is that of trec_eval 10, which
prints measures in a fixed order whatever was asked for first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Set
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from sounding.core.errors import DataError
from sounding.core.text import quote
from sounding.measures.registry import Measure

# How trec_eval reads what follows the name, and how that shows in the name it prints:
# plain    takes nothing                    map
# cutoffs  whole numbers, a line for each   P.5,10            -> P_5 and P_10
# points   numbers, a line for each         Rprec_mult.0.2    -> Rprec_mult_0.20
# list     numbers, one line for all        utility.2,-1,0,0  -> utility_2,-1,0,0
# pairs    name=value, one line for all     ndcg.1=3,2=9      -> ndcg_1=3,2=9
Kind = Literal["plain", "cutoffs", "points", "list", "pairs"]

_RANKS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_RECALLS = tuple(tenth / 10 for tenth in range(11))
_MULTIPLES = tuple(fifth / 5 for fifth in range(1, 11))


class TrecMeasure(NamedTuple):
    """One measure of trec_eval and its equivalent here."""

    name: str
    measure: str  # our name
    kind: Kind = "plain"
    sets: tuple[str, ...] = ()  # our parameters that the values after the name set, in order
    defaults: tuple[float, ...] = ()  # cutoffs and points: what the bare name stands for
    fixed: Mapping[str, Any] = MappingProxyType({})  # its defaults that differ from ours
    aside: tuple[str, ...] = ()  # our parameters that trec_eval sets by an option, not in the name
    prints: str = "%6.4f"
    groups: bool = False  # the mean over judgment groups within a topic

    def read(self, text: str | None) -> tuple[Measure, ...]:
        """Return our measures for the text after the name; None: there is none."""
        if text is None:
            settings = [{self.sets[0]: value} for value in self.defaults] if self.defaults else [{}]
        elif self.kind == "plain":
            raise DataError(f"trec_eval's {self.name} takes no parameters")
        else:
            settings = _READERS[self.kind](self, text)
        return tuple(Measure.of(self.measure, **(dict(self.fixed) | each)) for each in settings)

    def written(self, measure: Measure, level: float) -> str | None:
        """Return the name that trec_eval prints for our measure; None if it cannot compute it."""
        given = dict(measure.parameters)
        if given.get("rel", level) == level:
            given.pop("rel", None)
        if not set(given) <= {*self.sets, *self.fixed, *self.aside}:
            return None
        if self.kind == "plain":
            own = {key: value for key, value in given.items() if key not in self.aside}
            return self.name if own == dict(self.fixed) else None
        return _WRITERS[self.kind](self, measure)


def _read_each(entry: TrecMeasure, text: str) -> list[dict[str, Any]]:
    values = sorted({_number(part) for part in text.split(",")})
    return [{entry.sets[0]: value} for value in values]


def _read_list(entry: TrecMeasure, text: str) -> list[dict[str, Any]]:
    if entry.sets == ("points",):
        return [{"points": text}]
    values = [_number(part) for part in text.split(",")]
    if len(values) != len(entry.sets):
        raise DataError(f"trec_eval's {entry.name} takes {len(entry.sets)} numbers, not {len(values)}")
    return [dict(zip(entry.sets, values, strict=True))]


def _read_pairs(entry: TrecMeasure, text: str) -> list[dict[str, Any]]:
    settings: dict[str, Any] = {}
    gains: dict[float, float] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not equals:
            raise DataError(f"trec_eval's {entry.name} takes pairs such as 1=3.5, not {quote(pair)}")
        if key in entry.sets and key != "gains":
            settings[key] = _number(value)
        elif "gains" in entry.sets:
            gains[_number(key)] = _number(value)
        else:
            raise DataError(f"trec_eval's {entry.name} takes {entry.sets[0]}=, not {quote(pair)}")
    return [settings | ({"gains": gains} if gains else {})]


def _number(text: str) -> float:
    """Parse a number, as an integer if it is whole."""
    # Only ASCII blanks: \s includes separators such as \x1e, which float() refuses.
    number = r"[ \t]*[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?[ \t]*"
    if not re.fullmatch(number, text):
        raise DataError(f"{quote(text)} is not a number")
    value = float(text)
    return int(value) if value.is_integer() else value


def _write_cutoff(entry: TrecMeasure, measure: Measure) -> str | None:
    value = measure.get(entry.sets[0])
    return None if value is None else f"{entry.name}_{value}"


def _write_point(entry: TrecMeasure, measure: Measure) -> str:
    return f"{entry.name}_{measure.get(entry.sets[0]):.2f}"


def _write_list(entry: TrecMeasure, measure: Measure) -> str:
    if not set(dict(measure.parameters)) & set(entry.sets):
        return entry.name
    return f"{entry.name}_{','.join(str(measure.get(key)) for key in entry.sets)}"


def _write_pairs(entry: TrecMeasure, measure: Measure) -> str:
    pairs: list[str] = []
    for key in entry.sets:
        value = measure.get(key)
        if key == "gains":
            pairs += [f"{grade}={gain}" for grade, gain in value or ()]
        elif value != entry.fixed.get(key):
            pairs.append(f"{key}={value}")
    return f"{entry.name}_{','.join(pairs)}" if pairs else entry.name


_READERS: Mapping[Kind, Callable[[TrecMeasure, str], list[dict[str, Any]]]] = {
    "cutoffs": _read_each, "points": _read_each, "list": _read_list, "pairs": _read_pairs,
}  # fmt: skip
_WRITERS: Mapping[Kind, Callable[[TrecMeasure, Measure], str | None]] = {
    "cutoffs": _write_cutoff, "points": _write_point, "list": _write_list, "pairs": _write_pairs,
}  # fmt: skip


def _plain(name: str, measure: str, prints: str = "%6.4f") -> TrecMeasure:
    return TrecMeasure(name=name, measure=measure, prints=prints)


def _cut(name: str, measure: str, defaults: tuple[int, ...] = _RANKS, *, groups: bool = False) -> TrecMeasure:
    return TrecMeasure(
        name=name, measure=measure, kind="cutoffs", sets=("k",), defaults=defaults, groups=groups
    )


def _fixed(name: str, measure: str, prints: str = "%6.4f", **fixed: Any) -> TrecMeasure:
    return TrecMeasure(name=name, measure=measure, prints=prints, fixed=fixed)


def _gained(name: str, measure: str) -> TrecMeasure:
    return TrecMeasure(name=name, measure=measure, kind="pairs", sets=("gains",))


# In the order in which trec_eval 10 prints them.
TREC_MEASURES: tuple[TrecMeasure, ...] = (
    _plain("runid", "RunID", "%s"),
    _plain("num_q", "NumQ", "%d"),
    _plain("num_ret", "NumRet", "%d"),
    _plain("num_rel", "NumRel", "%d"),
    _plain("num_rel_ret", "NumRelRet", "%d"),
    _plain("map", "AP"),
    _plain("gm_map", "GMAP"),
    _plain("Rprec", "Rprec"),
    _plain("bpref", "Bpref"),
    _plain("recip_rank", "RR"),
    TrecMeasure(name="iprec_at_recall", measure="IPrec", kind="points", sets=("recall",), defaults=_RECALLS),
    _cut("P", "P"),
    TrecMeasure(name="relstring", measure="RelString", kind="list", sets=("k",), prints="'%s'"),
    _cut("recall", "R"),
    _plain("infAP", "infAP"),
    _plain("gm_bpref", "GMBpref"),
    TrecMeasure(name="Rprec_mult", measure="RprecMult", kind="points", sets=("x",), defaults=_MULTIPLES),
    TrecMeasure(
        name="utility", measure="Utility", kind="list", sets=("a", "b", "c", "d"), aside=("collection",)
    ),
    TrecMeasure(name="11pt_avg", measure="IAP", kind="list", sets=("points",)),
    _plain("binG", "BinG"),
    _gained("G", "G"),
    _gained("dcg", "DCG"),
    _gained("ideal_dcg", "IDCG"),
    _gained("ndcg", "nDCG"),
    _gained("ndcg_rel", "nDCGRel"),
    _gained("Rndcg", "RnDCG"),
    _cut("ndcg_cut", "nDCG"),
    _cut("map_cut", "AP"),
    _cut("relative_P", "RelP"),
    _cut("success", "Success", (1, 5, 10)),
    _plain("set_P", "SetP"),
    _plain("set_relative_P", "SetRelP"),
    _plain("set_recall", "SetR"),
    _plain("set_map", "SetAP"),
    TrecMeasure(name="set_F", measure="SetF", kind="list", sets=("beta",)),
    _plain("num_nonrel_judged_ret", "NumNonrelRet", "%d"),
    TrecMeasure(name="map_avgjg", measure="AP", groups=True),
    _cut("P_avgjg", "P", groups=True),
    TrecMeasure(
        name="Rprec_mult_avgjg", measure="RprecMult", kind="points", sets=("x",), defaults=_MULTIPLES,
        groups=True,
    ),
    _plain("yaap", "Yaap"),
    TrecMeasure(name="rbp", measure="RBP", kind="pairs", sets=("p", "gains"), fixed={"p": 0.9}),
    TrecMeasure(name="rbp_resid", measure="RBPResidual", kind="pairs", sets=("p",), fixed={"p": 0.9}),
    _cut("unj", "Unjudged", (5, 10, 20)),
    _plain("prefs_num_prefs_poss", "NumPrefs", "%d"),
    _fixed("prefs_num_prefs_ful", "NumPrefsRight", "%d"),
    _fixed("prefs_num_prefs_ful_ret", "NumPrefsRight", "%d", docs="retrieved"),
    _fixed("prefs_simp", "Prefs"),
    _fixed("prefs_pair", "Prefs", mean="pair"),
    _fixed("prefs_avgjg", "Prefs", mean="group"),
    _fixed("prefs_avgjg_Rnonrel", "Prefs", mean="balanced"),
    _fixed("prefs_simp_ret", "Prefs", docs="retrieved"),
    _fixed("prefs_pair_ret", "Prefs", mean="pair", docs="retrieved"),
    _fixed("prefs_avgjg_ret", "Prefs", mean="group", docs="retrieved"),
    _fixed("prefs_avgjg_Rnonrel_ret", "Prefs", mean="balanced", docs="retrieved"),
    _fixed("prefs_simp_imp", "Prefs", docs="one"),
    _fixed("prefs_pair_imp", "Prefs", mean="pair", docs="one"),
    _fixed("prefs_avgjg_imp", "Prefs", mean="group", docs="one"),
)  # fmt: skip
_BY_NAME: Mapping[str, TrecMeasure] = {entry.name: entry for entry in TREC_MEASURES}

_OFFICIAL = (
    "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref",
    "recip_rank", "iprec_at_recall", "P",
)  # fmt: skip
_SET = ("utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F")
NICKNAMES: Mapping[str, tuple[str, ...]] = {
    "official": _OFFICIAL,
    "set": (*_OFFICIAL[:5], *_SET),
    "all_trec": (
        *_OFFICIAL, "relstring", "recall", "unj", "rbp", "rbp_resid", "infAP", "gm_bpref", "11pt_avg", "ndcg",
        "relative_P", "Rprec_mult", "success", "map_cut", "ndcg_cut", "ndcg_rel", "Rndcg", "binG", "G",
        *_SET, "num_nonrel_judged_ret",
    ),
    "prefs": (
        "runid", "num_q", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret",
        "prefs_simp", "prefs_pair", "prefs_avgjg",
    ),
    "all_prefs": ("runid", "num_q", *(name for name in _BY_NAME if name.startswith("prefs_"))),
    "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
}  # fmt: skip

TREC_NAMES: tuple[str, ...] = (*_BY_NAME, *NICKNAMES)
# The longest name first: `Rprec_mult_0.20` is not `Rprec` with parameters. After `_`, only what trec_eval
# prints there: `ndcg_burges` is not `ndcg` with parameters.
_LONGEST_FIRST = sorted(_BY_NAME, key=len, reverse=True)


def expand(text: str) -> tuple[Measure, ...] | None:
    """Return our measures for a trec_eval name or nickname; None if it is not one."""
    if text in NICKNAMES:
        return tuple(measure for name in NICKNAMES[text] for measure in _BY_NAME[name].read(None))
    spelled = _split_name(text)
    return None if spelled is None else _BY_NAME[spelled[0]].read(spelled[1])


def nickname(text: str, without: Set[str]) -> tuple[Measure, ...]:
    """Return the measures of a nickname except some names; nothing if the text is not a nickname."""
    names = (name for name in NICKNAMES.get(text, ()) if name not in without)
    return tuple(measure for name in names for measure in _BY_NAME[name].read(None))


def name_with_parameters(text: str) -> str | None:
    """Return the trec_eval name to which a text gives parameters, as in `P.5,10`; otherwise None."""
    spelled = _split_name(text)
    return None if spelled is None or spelled[1] is None else spelled[0]


def typed_name(text: str) -> str | None:
    """Return the name under which trec_eval prints a measure with the parameters as they were typed.

    `Rndcg.1=1,2=7` is Rndcg_1=1,2=7, although the first of the two gains changes nothing. None if the text
    has no such parameters.
    """
    spelled = _split_name(text)
    if spelled is None or spelled[1] is None or _BY_NAME[spelled[0]].kind not in ("pairs", "list"):
        return None
    return f"{spelled[0]}_{spelled[1]}"


def _split_name(text: str) -> tuple[str, str | None] | None:
    """Split a text into a trec_eval name and its parameters, if any; None if it has another form."""
    for name in _LONGEST_FIRST:
        if text.startswith(name):
            mark, rest = text[len(name) : len(name) + 1], text[len(name) + 1 :]
            if not mark:
                return name, None
            if mark == "." or (mark == "_" and rest.startswith((*"0123456789.+-", "p="))):
                return name, rest
    return None


def trec_name(measure: Measure, *, groups: bool = False, level: float = 1) -> str:
    """Return the name under which trec_eval prints this measure; our own if it cannot compute it.

    `groups`: values are means over judgment groups. `level`: the value of `trec_eval -l`; it is not part of
    trec_eval's names, so a measure of another level keeps its own name.
    """
    found = _find(measure, groups, level)
    return str(measure) if found is None else found[1]


def trec_order(measures: Iterable[Measure], *, level: float = 1) -> list[Measure]:
    """Sort measures in the order in which trec_eval prints them; unknown ones come last."""

    def place(measure: Measure) -> tuple[int, float]:
        found = _find(measure, False, level)
        if found is None:
            return len(TREC_MEASURES), 0
        entry = TREC_MEASURES[found[0]]
        return found[0], float(measure.get(entry.sets[0])) if entry.defaults else 0

    return sorted(measures, key=place)


def trec_format(measure: Measure) -> str:
    """Return the `%` format in which trec_eval prints this measure: counts whole, text as it is.

    If ties are averaged, a count at a cut-off need not be whole.
    """
    prints = [entry.prints for entry in TREC_MEASURES if entry.measure == measure.name]
    return "%6.4f" if not prints or (prints[0] == "%d" and measure.k is not None) else prints[0]


def trec_names_of(name: str) -> tuple[str, ...]:
    """Return all trec_eval names of one of our measures."""
    return tuple(entry.name for entry in TREC_MEASURES if entry.measure == name)


def with_level(measure: Measure, rel: float) -> Measure:
    """Set the relevance level of a measure, as `trec_eval -l` does for all binary measures.

    A level of its own is kept. Measures that use grades (no level by default) do not change.
    """
    known = measure.definition.parameters.get("rel")
    if known is None or known.default is None or "rel" in dict(measure.parameters):
        return measure
    return measure.replace(rel=rel)


def _find(measure: Measure, groups: bool, level: float) -> tuple[int, str] | None:
    """Return the position in the table and the printed name."""
    entries = [(place, entry) for place, entry in enumerate(TREC_MEASURES) if entry.measure == measure.name]
    for wanted in (True, False) if groups else (False,):
        for place, entry in entries:
            if entry.groups == wanted and (name := entry.written(measure, level)) is not None:
                return place, name
    return None
