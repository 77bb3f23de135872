"""Explain each column heading of a report in one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sounding.core.errors import SoundingError
from sounding.measures import parse
from sounding.render.tables import Table

TERMS: Mapping[str, str] = {
    # runs, topics and documents
    "run": "One system's ranked lists of documents, one for each topic.",
    "run_a": "The first run of the pair; differences are this run minus the other.",
    "run_b": "The second run of the pair.",
    "pair": "The two runs; differences are the first minus the second.",
    "group": "Who submitted the run.",
    "kind": "How the run was made, as the info file says: automatic, manual and so on.",
    "pooled": "Whether the run's first documents went into the pool that was judged.",
    "topic": "One information need; values are averaged over topics.",
    "topics": "The number of topics on which both runs have a value.",
    "mean of the runs": "The mean over all runs; low for a hard topic.",
    "deviation": "The standard deviation over the runs; high where they differ.",
    "worst run": "The run with the lowest value on the topic.",
    "best value": "The value of the best run on the topic.",
    "worst value": "The value of the worst run on the topic.",
    "measure": "The measure by which the row was computed.",
    "k": "The cut-off: only the first k documents of every list count.",
    "depth": "The number of documents per list that go into the pool.",
    "collection": "The judgments, by the name of their file.",
    # values
    "value": "The mean over topics; an unjudged document counts as not relevant.",
    "lower": "The lowest value that further judgments of these runs' documents can give.",
    "upper": "The highest value that further judgments of these runs' documents can give.",
    "unjudged": "The part of the value, or the share of documents, that is unjudged.",
    "tail": "How much documents below the end of the list could add to the value.",
    "judged": "The judged share of the documents that the measure looks at; or the number of judged"
    " documents.",
    # pairs
    "difference": "The mean of the first run minus that of the second.",
    "interval": "The confidence interval of the difference, at the level named below.",
    "effect size": "Cohen's d_z: the mean difference by topic divided by its standard deviation.",
    "p": "The probability of a difference at least this large if the runs were equally good; over depth, the"
    " median of all pairs.",
    "adjusted p": "The p-value after correction for all tested pairs.",
    "assessment": "A_p, the judged share of a run's first documents; for a pair, the difference; for"
    " a collection, its tau with MAP.",
    "case": "The pair's case in the decision matrix of Baillie et al.: conclusions 1 and 3 are strong; 2 and"
    " 4 are weak because one run (in 4 the better one) was judged significantly more completely.",
    "settled": "Yes: no further judgment of these runs' documents can reverse the order.",
    "holds": "The chance that a paired t test of these two alone keeps its conclusion once the documents"
    " named below are judged.",
    "sign": "The chance that the same run stays ahead once these documents are judged.",
    "equivalence p": "Small: the two differ by less than the margin.",
    "non-inferiority p": "Small: the first run is worse by less than the margin, if at all.",
    "advice": "What would make the conclusion about this pair firmer.",
    # over depth
    "means": "The lowest and the highest mean of any run at this depth.",
    "differ": "The share of pairs that differ significantly at this depth.",
    "confirmed": "Of the pairs that differ significantly at the reference depth, the share that also differ"
    " here, in the same order.",
    "reversed": "Of the pairs that differ significantly at the reference depth, the share in the opposite"
    " order here.",
    "tau": "Kendall's tau between two rankings of the runs: 1 the same, 0 unrelated, -1 reversed.",
    "tau_b": "Kendall's tau for rankings with ties: 1 the same, 0 unrelated, -1 reversed.",
    "tau_ap_b": "Kendall's tau with more weight on the top runs, for rankings with ties.",
    "RBO": "Rank-biased overlap of two rankings: their agreement, mostly at the top.",
    "r": "Pearson's correlation of the runs' means with those at the reference depth.",
    "RMSE": "The typical distance of the runs' means from those at the reference depth.",
    "open": "The residual: how much unjudged documents and deeper ranks could still add to the value.",
    "A_p": "The share of the first k documents that were judged.",
    # audit
    "about": "What the statement is about.",
    "answer": "Whether the collection can be used for this: yes, with care, no or not known.",
    "claim": "A possible use of the collection.",
    "figure": "The number behind the answer.",
    "rule": "How tied documents are ordered.",
    "why": "The reasons, with all their figures.",
    "relevant": "Documents judged relevant: their number, or their share of what was retrieved.",
    "in a run's depth": "Relevant documents of such a pool within the first documents of a run itself.",
    "past it": "Relevant documents of such a pool that the run ranks lower.",
    "±": "The standard deviation of the figure before it.",
    "first unjudged": "The mean rank of the first unjudged document.",
    "non-rel.": "The share of what was retrieved that was judged not relevant.",
    "missed": "Relevant documents that the run did not retrieve.",
    "length": "The mean number of documents in the run's lists.",
    "pool depth": "The depth to which all contributing runs are judged on this topic.",
    "second half": "Relevant documents that only the lower half of the pool contributed.",
    "to come": "The expected number of new relevant documents in a pool twice as deep (Zobel's"
    " extrapolation).",
    "likely to come": "The same by another curve, which tends to err in the other direction.",
    "best run": "The run with the highest value on this topic.",
    "changed without": "Groups whose unique documents decide which run is best on this topic.",
    "new relevant": "Relevant documents in a pool of this depth that a shallower one lacks.",
    "share relevant": "The relevant share of the documents that are new at this depth.",
    "new documents": "Documents in a pool of this depth that a shallower one lacks.",
    "new judged": "How many of them were judged.",
    "unique": "Relevant documents that only this run or group contributed to the pool.",
    "unique judged": "Documents, relevant or not, that only this group contributed to the pool.",
    "left out": "The run or group whose unique documents are removed from the judgments.",
    "runs": "Which runs, or how many.",
    "n": "How many runs.",
    "percent": "The mean absolute change of the value, in percent.",
    "most": "The largest absolute change of the value, in percent.",
    "which": "The run whose value changes most.",
    "signed": "The mean change of the value in percent; negative: runs lose.",
    "median": "The median change of the value in percent; negative: runs lose.",
    "change": "The value without the left-out documents minus the value with them.",
    "places": "The mean number of ranks by which a run moves.",
    "at most": "The largest number of ranks by which a run moves.",
    "on ten": "The same on the ten topics with most relevant documents, in percent.",
    "most on ten": "The largest change on those ten topics, in percent.",
    "without": "The same without the left-out documents.",
    "%": "The change of the value in percent.",
    "% on ten": "The change in percent on the ten topics with most relevant documents.",
    "rank": "The run's rank among the contributing runs.",
    "overlap": "The share of the run's pooled documents that another run pooled as well.",
    "group overlap": "The share of the run's pooled documents that a run of another group pooled as well.",
    "pool depths": "The depth, in units of the pool's depth.",
    "unjudged documents": "Documents of pooled runs, down to this depth, that were not judged.",
    "pairs": "How many pairs of runs.",
    "differ now": "How many pairs differ significantly by the judgments there are.",
    "stand": "The share of conclusions expected to stand if pooled runs were judged to this depth.",
    "very likely": "The share of conclusions with a chance of 95% or more to stand.",
    "documents": "Documents judged for the sake of the added run, for each topic.",
    "added": "Which runs are put into the pool, or taken out of it.",
    "A_p@k": "The share of the run's first k documents that were judged.",
    "itself": "How much the judged share of the added run rises with it in the pool.",
    "its group": "The mean rise in the other runs of its group.",
    "other groups": "The mean rise in the runs of other groups.",
    "times": "The rise in its group divided by that in other groups.",
    "most, elsewhere": "The run of another group whose judged share rises most.",
    "rise": "By how much it rises.",
    "remaining": "The total number of relevant documents that Zobel's law predicts, to the end of the lists.",
    "last depth": "The depth below which Zobel's law predicts no further relevant document.",
    "judged depth": "The depth to which every document of the contributing runs was judged on this topic.",
    "tied share": "The share of the first documents whose scores are tied with a neighbor's.",
    "trec": "Ties are broken by document id, as trec_eval does.",
    "score-file": "Ties are left in the order of the file's lines.",
    "file": "Documents are in the order of the file's lines.",
    "average": "Ties are averaged over all their orders.",
    "random": "MAP with relevant documents drawn at random from the pool; or its tau with real MAP.",
    "popularity": "The run's overlap with the others; or its tau with real MAP.",
    "MAP": "Mean average precision over topics.",
    # reproduction
    "file name": "The file as it was named on the command line.",
    "used as": "What the file was read as.",
    "bytes": "The size of the file.",
    "sha256": "A fingerprint: two files with the same one are the same.",
    "definition": "What the measure computes.",
    "what": "The program or library.",
    "version": "The version that made this report.",
    "policy": "A choice that can change values.",
    "chosen": "What was chosen.",
    "method": "What was computed.",
    "source": "The publication that describes it.",
}

_PATTERNS = (
    (re.compile(r"@(\d+)"), "The share of the run's first {0} documents that were judged."),
    (re.compile(r"A_p@(\d+)"), "The share of the run's first {0} documents that were judged."),
    (
        re.compile(r"interval \((.+)\)"),
        "The confidence interval of the {0} of the differences, at the level below.",
    ),
)


def explain(name: str) -> str | None:
    """Return the sentence that explains a column, a term or a measure; None if there is none."""
    word = name.strip()
    if word in TERMS:
        return TERMS[word]
    for pattern, sentence in _PATTERNS:
        found = pattern.fullmatch(word)
        if found:
            return sentence.format(*found.groups())
    try:
        return parse(word).definition.summary
    except SoundingError:
        return None


def explained(table: Table) -> list[tuple[str, str]]:
    """Return each column name of a table once, with its meaning."""
    names = dict.fromkeys(column.name.strip() for column in table.columns)
    if any(column.joined for column in table.columns):
        names["value"] = None
    return [(name, meaning) for name in names if (meaning := explain(name)) is not None]
