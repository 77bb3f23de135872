"""Every word that a report's tables use, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sounding.core.errors import SoundingError
from sounding.measures import parse
from sounding.render.tables import Table

TERMS: Mapping[str, str] = {
    # who and what
    "run": "One system's ranked lists of documents, one for each topic.",
    "run_a": "The first run of the pair; differences are this run less the other.",
    "run_b": "The second run of the pair.",
    "pair": "The two runs; differences are the first less the second.",
    "group": "Who submitted the run.",
    "kind": "How the run was made, as the info file says: automatic, manual and so on.",
    "pooled": "Whether the run's first documents went into the pool that was judged.",
    "topic": "One information need; values are averaged over topics.",
    "topics": "The number of topics on which both runs have a value.",
    "mean of the runs": "The mean of the topic over all runs: low for a hard topic.",
    "deviation": "The standard deviation over the runs: high for a topic on which they differ.",
    "worst run": "The run with the lowest value on the topic.",
    "best value": "The value of the best run on the topic.",
    "worst value": "The value of the worst run on the topic.",
    "measure": "The measure by which the row was computed.",
    "k": "The cut-off: only the first k documents of every list count.",
    "depth": "How many documents of every list go into the pool.",
    "collection": "The judgments, by the name of their file.",
    # values
    "value": "The mean over topics; an unjudged document counts as not relevant.",
    "lower": "The least that the value can be, whatever the unjudged documents of these runs are.",
    "upper": "The most that the value can be, whatever the unjudged documents of these runs are.",
    "unjudged": "How much, or what share of the documents, rests on documents that nobody judged.",
    "tail": "What documents below the end of the list could still add to the value.",
    "judged": "The share of the documents that the measure looks at which somebody judged; or their number.",
    # pairs
    "difference": "The mean of the first run less that of the second, over topics.",
    "interval": "Where the true difference lies, with the confidence that is named below.",
    "effect size": "Cohen's d_z: the mean difference by topic divided by its standard deviation.",
    "p": "How often chance alone gives a difference as large as this, if the runs were equally good; over"
    " depth, the median of all pairs.",
    "adjusted p": "The p of the pair, raised because many pairs were tested at once.",
    "assessment": "How far a run was judged: A_p, the share of its first documents that were; for a pair, the"
    " difference of the two; for a collection, its tau with MAP.",
    "case": "Where the pair stands in the decision matrix of Baillie et al.: conclusions 1 and 3 are strong;"
    " 2 and 4 are weak, for there one run (in 4 the better one) was judged significantly more.",
    "settled": "Yes: judging the unjudged documents of these runs cannot reverse the order of the two.",
    "holds": "The chance that a paired t test of the two alone says the same once more documents are judged:"
    " which, is named below.",
    "sign": "The chance that the same run of the two is ahead once these documents are judged.",
    "equivalence p": "Small: the two differ by less than the margin.",
    "non-inferiority p": "Small: the first run is worse by less than the margin, if at all.",
    "advice": "What would make the conclusion firmer, for this pair by itself.",
    # over depth
    "means": "The lowest and the highest mean of any run at this depth.",
    "apart": "The share of all pairs of runs that the test separates at this depth.",
    "cover": "Of the pairs that the reference depth separates, the share separated in the same order here.",
    "turned": "Of the pairs that the reference depth separates, the share in the other order here.",
    "tau": "Kendall's tau between two orders of the runs: 1 the same, 0 unrelated, -1 reversed.",
    "tau_b": "Kendall's tau where runs may be tied: 1 the same order, 0 unrelated, -1 reversed.",
    "tau_ap_b": "Kendall's tau with more weight for the runs at the top, where runs may be tied.",
    "RBO": "Rank-biased overlap of two orders: how far they agree, mostly at the top.",
    "r": "Pearson's correlation of the runs' means with those at the reference depth.",
    "RMSE": "The typical distance of the runs' means from those at the reference depth.",
    "open": "The residual: how much unjudged documents and deeper ranks could still add to the value.",
    "A_p": "The share of the first k documents that were judged.",
    # audit
    "about": "What the statement is about.",
    "answer": "Whether the collection is fit for it: yes, with care, no, or not known; a note otherwise.",
    "claim": "What one would like to do with the collection.",
    "figure": "What the number behind the answer is.",
    "rule": "How tied documents are ordered.",
    "why": "The reasons, with all their figures.",
    "relevant": "Documents judged relevant: their number, or their share of what was retrieved.",
    "in a run's depth": "Relevant documents of such a pool within the first documents of a run itself.",
    "past it": "Relevant documents of such a pool that the run has further down.",
    "±": "The standard deviation of the figure before it.",
    "first unjudged": "The mean rank of the first document that nobody judged.",
    "non-rel.": "The share of what was retrieved that was judged not relevant.",
    "missed": "Relevant documents that the run did not retrieve.",
    "length": "The mean number of documents in the run's lists.",
    "pool depth": "The depth to which all contributing runs are judged on this topic.",
    "second half": "Relevant documents that only the lower half of the pool brought in.",
    "to come": "Relevant documents to be expected from a pool twice as deep, by Zobel's extrapolation.",
    "likely to come": "The same by another curve, which tends to err on the other side.",
    "best run": "The run with the highest value on this topic.",
    "changed without": "Groups without whose own documents another run would be best on this topic.",
    "new relevant": "Relevant documents that a pool of this depth has and a shallower one has not.",
    "share relevant": "Of the documents that are new at this depth, the share that is relevant.",
    "unique": "Relevant documents that only this run or group brought into the pool.",
    "unique judged": "Documents, relevant or not, that only this group brought into the pool.",
    "left out": "The run or group whose own documents are taken out of the judgments.",
    "runs": "Which runs, or how many.",
    "n": "How many runs.",
    "percent": "The mean absolute change of the value, in percent.",
    "most": "The largest absolute change of the value, in percent.",
    "which": "The run whose value changes most.",
    "signed": "The mean change of the value in percent, with its sign: negative where runs lose.",
    "change": "The value without the left-out documents less the value with them.",
    "places": "The mean number of places by which a run moves in the order.",
    "at most": "The largest number of places by which a run moves.",
    "on ten": "The same on the ten topics with most relevant documents, in percent.",
    "most on ten": "The largest change on those ten topics, in percent.",
    "without": "The same without the left-out documents.",
    "%": "The change of the value in percent.",
    "% on ten": "The change in percent on the ten topics with most relevant documents.",
    "rank": "The run's place among the contributing runs.",
    "overlap": "The share of the run's pooled documents that another run pooled as well.",
    "group overlap": "The share of the run's pooled documents that a run of another group pooled as well.",
    "remaining": "Relevant documents that Zobel's law lets expect in all, down to the end of the lists.",
    "last depth": "The depth below which Zobel's law expects no further relevant document.",
    "judged depth": "The depth to which every document of the contributing runs was judged on this topic.",
    "tied share": "The share of the first documents whose scores are tied with a neighbor's.",
    "trec": "Ties are broken by document id, as trec_eval does.",
    "score-file": "Ties are left in the order of the file's lines.",
    "file": "Documents are in the order of the file's lines.",
    "average": "Ties are averaged over all their orders.",
    "random": "MAP with relevant documents drawn at random from the pool; or its tau with real MAP.",
    "popularity": "How much the run shares with the others; or its tau with real MAP.",
    "MAP": "Mean average precision over topics.",
    # reproduction
    "file name": "The file as it was named on the command line.",
    "used as": "What the file was read as.",
    "bytes": "The size of the file.",
    "sha256": "A fingerprint: two files with the same one are the same.",
    "what": "The program or library.",
    "version": "The version that made this report.",
    "policy": "A choice that can change values.",
    "chosen": "What was chosen.",
    "method": "What was computed.",
    "source": "Where it was published.",
}

_PATTERNS = (
    (re.compile(r"@(\d+)"), "The share of the run's first {0} documents that were judged."),
    (re.compile(r"A_p@(\d+)"), "The share of the run's first {0} documents that were judged."),
    (
        re.compile(r"interval \((.+)\)"),
        "Where the true {0} of the differences lies, with the confidence below.",
    ),
)


def explain(name: str) -> str | None:
    """One sentence for a word that heads a column: a term, or a measure; None: it explains itself."""
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
    """The words that head a table with what they mean, each once."""
    names = dict.fromkeys(column.name.strip() for column in table.columns)
    if any(column.joined for column in table.columns):
        names["value"] = None
    return [(name, meaning) for name in names if (meaning := explain(name)) is not None]
