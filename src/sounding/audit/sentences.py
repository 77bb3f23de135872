"""The sentences of `audit`: what statements claim, by which rule and why, and notes below the tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.audit.leave_out import LeaveOutSummary
from sounding.core.text import first_few, plural, whole_percent
from sounding.evaluate.result import FEW_TOPICS

NAMED = 5  # topics, runs or documents in a statement

Claim = tuple[str, str]  # what is claimed, and its reasons with all of their figures


# -- what weakens comparisons ------------------------------------------------------------------------

NO_MANUAL_RUN = (
    "No manual run was pooled",
    "Manual runs bring in relevant documents that automatic ones do not find (Voorhees 2002);"
    " recall is overestimated without them.",
)


def undrawn(count: int, lines: int) -> Claim:
    """Documents that are listed with the grade of what was pooled and not judged."""
    return (
        f"{count:,} of {lines:,} lines of the qrels have grade -1: not judged",
        "Where the judgments are a sample, values are infAP's to estimate, and depth, growth and leaving"
        " out tell little.",
    )


def only_relevant(relevant: int, judgments: int) -> Claim:
    """Judgments that seem to list relevant documents alone."""
    return (
        f"Nearly all judgments are relevant ({relevant:,} of {judgments:,}): only relevant documents seem to"
        " be listed",
        "How deep was judged, what deeper pools hold and how far a run is judged does not show in them;"
        " where judgments of other documents exist, give them too.",
    )


def holes(count: int, depth: int, named: Sequence[str]) -> Claim:
    """Unjudged documents within the depth of the pool; `named` are the first of them."""
    return (
        f"{plural(count, 'document')} within the pool's depth of {depth} unjudged",
        "Lost judgments, or pools of some topics that end above it (topic doc):"
        f" {first_few(named, NAMED, count)}.",
    )


def judged_elsewhere(outside: int, judged: int, reach: int) -> Claim:
    """Judged documents that no pooled run brought in."""
    return (
        f"{outside:,} of {judged:,} judged documents are in no pooled run's first {reach}",
        "Runs that are not here, or deeper pools of some topics, brought them in.",
    )


def winners(topics: int, measure: str, groups: Sequence[str]) -> Claim:
    """Topics on which leaving out one of these groups changes the best run."""
    return (
        f"On {plural(topics, 'topic')} leaving out one group changes the best run",
        f"By {measure}; left out: {first_few(groups, NAMED)}.",
    )


def few_relevant(topics: Sequence[str], few: int) -> Claim:
    """Topics with few relevant documents."""
    return (
        f"{plural(len(topics), 'topic')} with fewer than {few} relevant documents",
        f"One document moves them far: {first_few(topics, NAMED)}.",
    )


def many_relevant(topics: Sequence[str], depth: int) -> Claim:
    """Topics with more relevant documents than the pool is deep."""
    return (
        f"{plural(len(topics), 'topic')} with more relevant documents than the pool is deep ({depth})",
        f"No run could have had them all pooled, and more are likely: {first_few(topics, NAMED)}.",
    )


def short_runs(runs: Sequence[tuple[str, float]], median: float) -> Claim:
    """Runs with short lists, and how many documents they have for a topic."""
    names = [f"{run} {length:.0f}" for run, length in runs]
    return (
        f"{plural(len(runs), 'run')} with short lists",
        f"Such values stand still at deeper k; documents for a topic: {first_few(names, NAMED)}"
        f" (median of all runs {median:.0f}).",
    )


def tied_scores(share: float, top: int, measure: str, tau: float) -> Claim:
    """What the rule for tied scores does; tau NaN: not known."""
    claim = "Whether the rule for tied scores matters is not known"
    agreement = "is not defined" if np.isnan(tau) else f"is {tau:.3f}"
    return (
        claim if np.isnan(tau) else "The rule for tied scores matters",
        f"{whole_percent(share)} of lists have ties in the first {top}; tau of {measure} between order by doc"
        f" id and order of lines {agreement}.",
    )


def popular(depth: int, tau: float) -> Claim:
    """Runs that come out better the more of them was judged."""
    return (
        "Runs that were judged more come out better",
        f"tau between MAP and assessment at {depth} is {tau:.3f}.",
    )


# -- what a collection is fit for --------------------------------------------------------------------

ONLY_RELEVANT = " Nearly all judgments are relevant: only relevant documents seem to be listed."
UNLISTED = " That is what is listed as relevant; what else was judged does not show."
TOPICS_RULE = f"with care at best: fewer than {FEW_TOPICS} topics; no: one topic"
UNJUDGED = {
    "nonrelevant": "what is not judged counts as not relevant",
    "condensed": "what is not judged is passed over, so that what is judged moves up",
}  # by policy

SAMPLE_RULE = "with care: judgments with strata or probabilities are a sample"
NO_COMMON_DOCUMENT_RULE = "no: no document that any run retrieved is judged"
COMPARE_THESE = "Compare these runs by these judgments"
COMPARE_BY_RECALL = "Compare pooled runs by AP, nDCG and other measures of recall"
COMPARE_LIKE_POOLED = "Compare new runs that are like the pooled ones"
LIST_POOLED_RUNS = " List the runs that were pooled with --info."
ONE_TOPIC = " One topic proves nothing about runs: another may turn everything round."
NO_GROWTH = "Where only relevant documents are listed there is no growth to extrapolate."
NOTHING_TO_EXTRAPOLATE = (
    "No relevant document was pooled, or the pool is one rank deep: nothing to extrapolate."
)
ONE_CONTRIBUTED = "Only one run or group contributed: without it there are no judgments."
BUT_ONLY_RELEVANT = " But only relevant documents seem to be listed."
NO_SURER_THAN_POOLED = "The pooled runs themselves cannot be compared more surely than that."


def sample(documents: int, undrawn: int, strata: int | None) -> Claim:
    """Compare by estimates from a sample; `strata`: how many, None: chances are known in place of them."""
    how = f"in {strata} strata" if strata is not None and strata > 1 else "drawn from the whole pool"
    if strata is None:
        how = "each with the chance that it had of being drawn"
    left = f", and {undrawn:,} documents of the pool were not drawn (grade -1)" if undrawn else ""
    measures = "statAP" if strata is None else "xinfAP or statAP"
    return (
        f"Compare runs by estimates from a sample alone, such as {measures}",
        f"The judgments are a sample: {documents:,} documents, {how}{left}. What was not"
        " drawn is not known to be anything, so depth, growth and leaving out tell nothing here; sounding"
        f" evaluate -m {measures.split()[0]} --stats gives values with their errors.",
    )


def no_common_document(retrieved: Sequence[str], judged: Sequence[str]) -> str:
    """Why these runs and judgments do not belong together, with ids of both."""
    here = (
        f" Runs have ids such as {retrieved[0]}, the judgments {judged[0]}." if retrieved and judged else ""
    )
    return (
        f"No document is in common: none of the {len(retrieved):,} that the runs retrieved for these topics"
        f" is among the {len(judged):,} of the qrels. Are they of another collection, or are ids written"
        f" otherwise?{here}"
    )


def compare_pooled(depth: int) -> str:
    """How deep pooled runs can be compared; 0: not known, or not at all."""
    return f"Compare pooled runs at k of at most {depth}" if depth else "Compare pooled runs"


def pooled_rule(shallow: int, most_holed: float, unpooled: float) -> str:
    """When pooled runs can be compared."""
    return (
        f"yes: a pool of depth {shallow} or more, at most {whole_percent(most_holed)} of its documents"
        f" unjudged, and {FEW_TOPICS} topics or more; with care: less of these; no: more than"
        f" {whole_percent(unpooled)} of even the first documents are unjudged, or one topic; not known: only"
        " relevant documents are listed"
    )


def pool_and_topics(pool: str, topics: int) -> str:
    """What comparisons of pooled runs rest on; `pool` describes it."""
    return f"{pool} {plural(topics, 'topic')}."


def shallow_pool(depth: int) -> str:
    """That a shallow pool tells little."""
    return f" Values of the first {depth} rest on few documents each."


def topics_allow_no_more(topics: int) -> str:
    """Why an answer is worse than the figure alone would give."""
    return f" {plural(topics, 'topic')} allow{'s' * (topics == 1)} no more."


def depths_by_topic(least: float, most: float, median: float) -> str:
    """How deep the pools of the topics are."""
    return f" By topic the pool is {least:.0f} to {most:.0f} deep, median {median:.0f}."


def below_the_pool_rule(well: float, half: float) -> str:
    """When runs can be compared below the depth of the pool."""
    return (
        f"yes: {whole_percent(well)} judged or more, by the median of pooled runs; with care:"
        f" {whole_percent(half)}; {TOPICS_RULE}"
    )


def below_the_pool(deepest: int, median: float, least: float, most: float, unjudged: str) -> Claim:
    """How much is judged of all that pooled runs have; `unjudged` is the policy."""
    return (
        f"Compare pooled runs by P@{deepest} and whatever weighs all ranks alike",
        f"Judged of what they have down to {deepest}: {whole_percent(median)} by the median run,"
        f" {whole_percent(least)} to {whole_percent(most)}; {UNJUDGED[unjudged]}.",
    )


def recall_rule(small: float, large: float) -> str:
    """When runs can be compared by measures of recall."""
    return (
        f"yes: twice the depth would add at most {whole_percent(small)} relevant documents, by"
        f" Zobel's extrapolation; with care: {whole_percent(large)}; {TOPICS_RULE}"
    )


def to_come(known: int, late: int, more: float, likely: float, half: int) -> str:
    """How many relevant documents a pool of twice the depth would add to those known.

    `more` by Zobel's extrapolation, `likely` by a Poisson fit; `late` came from below rank `half`.
    """
    return (
        f"Twice the depth would add {more:,.0f} relevant documents ({whole_percent(more / known)}) by Zobel's"
        f" extrapolation, {likely:,.0f} ({whole_percent(likely / known)}) by a Poisson fit; of the"
        f" {known:,} pooled, {whole_percent(late / known)} came from below rank {half}."
    )


def leave_out_rule(measure: str, small: float, large: float) -> str:
    """When new runs that are like the pooled ones can be compared."""
    return (
        f"yes: leaving a group out changes {measure} of its runs by at most {small:g}% on average;"
        f" with care: {large:g}%; never better than for pooled runs"
    )


def changes(measure: str, whole: LeaveOutSummary, kinds: Sequence[str], on_ten: bool) -> str:
    """How much leaving groups out changes; `on_ten`: also on the topics with most relevant documents."""
    ten = f" ({whole.mean_percent_on_ten:.1f}% on the ten topics with most relevant documents)"
    return (
        f"Without what only its group found, {measure} of a pooled run changes by {whole.mean_percent:.2f}%"
        f" on average{ten if on_ten else ''}, at most {whole.max_percent:.2f}%"
        f" ({whole.most_changed}), its rank by {whole.mean_places:.2f}, at most {whole.max_places}"
        + (f"; {'; '.join(kinds)}." if kinds else ".")
    )


def changes_of_kind(kind: str, part: LeaveOutSummary) -> str:
    """The same for the runs of a kind, in a few words."""
    return f"{kind} runs {part.mean_percent:.2f}%, at most {part.max_percent:.2f}% ({part.most_changed})"


def nothing_to_change(measure: str) -> str:
    """That every run has 0."""
    return f"{measure} of every pooled run is 0: there is nothing to change."


def absent_runs(outside: int, judged: int) -> str:
    """That leaving out misleads where much came from runs that are not here."""
    return (
        f" But {outside:,} of {judged:,} judged documents came from runs that are not here, which may"
        " have found the same."
    )


def not_as_listed(unpooled: float) -> str:
    """That runs were not pooled as listed."""
    return (
        f" But more than {whole_percent(unpooled)} of even the first documents of these runs are unjudged:"
        " they were not pooled as listed."
    )


def new_run_rule(well: float, half: float) -> str:
    """When a new run can be compared."""
    return (
        f"yes: {whole_percent(well)} judged or more down to k; with care:"
        f" {whole_percent(half)}, and as much as the lower quartile of left-out runs; never"
        " better than for pooled runs"
    )


def compare_new_run(run: str, depth: int | None) -> str:
    """Compare a new run, down to a depth where one is known."""
    return f"Compare {run} with the others{f' at k of at most {depth}' if depth else ''}"


def judged_of_new_run(shares: dict[int, float]) -> str:
    """How much of a new run was judged, by depth."""
    in_words = ", ".join(f"{whole_percent(share)} of the first {depth}" for depth, share in shares.items())
    return f"Judged: {in_words}, mean over topics."


def usual_shares(shares: Sequence[float]) -> str:
    """How much is judged of a pooled run whose group is left out."""
    return (
        f"A pooled run whose group is left out has {', '.join(map(whole_percent, shares))} (lower quartile)."
    )


def first_unjudged(rank: float) -> str:
    """Where the first unjudged document of a new run stands."""
    return f"Its first unjudged document stands at rank {rank:.1f} on average."


# -- the page of the verdict, and below the tables ---------------------------------------------------

LISTED_ALONE = "Nearly all judgments are relevant: only relevant documents seem to be listed."
NOTHING_GROWS = f"{LISTED_ALONE} Without a judged pool to grow there is nothing to extrapolate."
RECALL_ALONE = f"{LISTED_ALONE} Judged means relevant here, so that assessment is a form of recall."
ALL_JUDGED = "In the lists of contributing runs every document is judged."
POOL_COLUMNS = (
    "Means over contributing runs and topics, with standard deviations: relevant documents of a pool so"
    " deep are those within a run's own first documents and those past them."
)
RUN_COLUMNS = (
    "@k: share judged of the documents that a run has down to k, mean over topics. Then: mean rank of the"
    " first unjudged document; shares of all documents retrieved, topics taken together; relevant"
    " documents not retrieved; documents for a topic."
)
CHANGED_WITHOUT = "Changed without: groups without whose unique documents another run is the best."
GROWTH_COLUMNS = (
    "Means for a topic: relevant and judged documents of a pool so deep; new relevant ones at this depth;"
    " their share of the documents that are new there."
)
UNIQUE_JUDGED = "Unique judged: all such documents, relevant or not."
AS_DEEP = "No run of another group has them as deep, pooled or not."


def headline(source: str, topics: int, judgments: int, relevant: int, runs: int, groups: int) -> str:
    """The size of the collection in a sentence."""
    return (
        f"{source}: {plural(topics, 'topic')}, {plural(judgments, 'judgment')}, {relevant:,} of them"
        f" relevant; {plural(runs, 'run')} of {plural(groups, 'group')}."
    )


def policies_note(policies: str) -> str:
    """The policies, which are described."""
    return f"Policies: {policies}."


def more_sections(names: Sequence[str]) -> str:
    """Which sections there are."""
    return f"More: --section {', '.join(names)}; or --all."


def rows_shown(shown: int, rows: int) -> str:
    """That only the first rows are shown."""
    return f"{shown} of {rows} rows, the rest with --top N."


def first_unjudged_on_average(rank: float) -> str:
    """Where the first unjudged document of contributing runs stands."""
    return (
        "With all judgments, wherever they came from, the first unjudged document of a contributing run"
        f" stands at rank {rank:.1f} on average."
    )


def in_no_run(judged: int, reach: int) -> str:
    """How many judged documents no contributing run brought in."""
    return f"{judged:,} judged documents are in no contributing run's first {reach}."


def unjudged_in_pool(named: Sequence[str], most: int, count: int) -> str:
    """The first unjudged documents of the pool, by topic and name."""
    return f"Unjudged within the depth of the pool (topic doc): {first_few(named, most, count)}."


def best_run_by(measure: str) -> str:
    """By which measure a run is the best of a topic."""
    return f"Best run by {measure}."


def topic_columns(end: int) -> str:
    """Explain the columns of topics that were pooled; lists end at a rank."""
    return (
        "Pool depth: to which contributing runs were pooled, single holes apart; judged depth: to which"
        " all of them are judged; a dash: all that they have is. Second half: relevant documents from"
        " below half of the depth. To come: relevant documents expected at twice the depth, by Zobel's"
        " extrapolation; likely to come: by a Poisson fit. Remaining: Zobel's down to its last depth,"
        f" behind which it gives none (a dash: never), or to the end of the lists at {end:,}."
    )


def second_half(late: int, relevant: int) -> str:
    """How many relevant documents come from deep in the pool."""
    return f"{late:,} of {relevant:,} relevant documents come from below half of the depth."


def twice_as_deep(more: float, likely: float) -> str:
    """What a pool twice as deep would add, by two laws, and how these came out where they were tried."""
    return (
        f"A pool twice as deep would add about {more:,.0f} by Zobel's extrapolation, {likely:,.0f} by a"
        " Poisson fit of C d^s (topic by topic: --section topics). Tried on TREC-8 from pools of depth 5"
        " to 50, the first came out 5 to 37% too low, the second from 1% too low to 37% too high."
    )


def remaining(more: float, end: int, within: int, topics: int) -> str:
    """How many relevant documents remain by Zobel's law, and on how many topics it ends in the lists."""
    return (
        "Zobel's law has a last depth, behind which it gives no more relevant documents; it lies within the"
        f" lists, the longest of which ends at {end:,}, on {within} of"
        f" {plural(topics, 'topic')}. Down to there, or to the end of the lists, {more:,.0f}"
        " remain. So far out neither law was ever tried, and the Poisson fit has no end."
    )


def part_columns(contributing: int, reach: int) -> str:
    """Explain the columns of parts of the collection."""
    return (
        f"Pooled: documents that the {contributing} contributing runs brought into the pool;"
        f" judged share: of the documents among the first {reach} of any run; relevant rate: of"
        " the judged documents; runs: contributing runs that brought at least one."
    )


def title_words(overall: float) -> str:
    """Explain the shares of title words; `overall` is that of all relevant documents."""
    return (
        "Mean share of a title's words that judged documents hold, by the best rank in a contributing run;"
        f" all relevant documents: {whole_percent(overall)}."
    )


def without_words(texts: int, titles: int) -> str:
    """What was left out for want of a text or a title."""
    return (
        f"Left out: {texts:,} judged documents that the corpus does not hold,"
        f" {titles} topics without a title."
    )


def unique_documents(reach: int, unique: int, relevant: int) -> str:
    """How many relevant documents one group alone has."""
    return (
        f"Relevant documents that one group alone has among the first {reach} of its pooled runs,"
        f" by the kind of these: {unique:,} of {relevant:,}."
    )


def leave_out_columns(remove: str, among: str) -> str:
    """Explain the columns of leaving out: which documents are lost, and among which runs they are unique."""
    lost = "relevant documents" if remove == "relevant" else "judgments"
    others = "nobody else contributed" if among == "pooled" else "no other run has, pooled or not"
    return (
        f"Left out: {lost} that {others}. Changes are the value without them less the value"
        " with them: a run that loses has a minus. %: mean and largest size of the changes of contributing"
        " runs, whatever their signs, and the run that has it; signed: mean with the signs; change: mean size"
        " in the measure itself. Places: mean and largest change of rank among contributing runs, all on the"
        " judgments that are left. On ten: % on the ten topics with most relevant documents."
    )


def overlap_columns(depth: int, k: int, tau: float, group_tau: float) -> str:
    """Explain overlap and assessment, with their tau."""
    return (
        f"Overlap: mean share of a run's first {depth} documents that another pooled run has there"
        " too; group overlap: that a pooled run of another group has; assessment:"
        f" A_p@{k}, judged documents down to {k} divided by {k}, however short the list."
        f" tau of assessment with overlap: {_coefficient(tau)}; with overlap with other groups:"
        f" {_coefficient(group_tau)}."
    )


def _coefficient(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "not defined"


def tie_rules(measure: str) -> str:
    """What the rules for ties are."""
    return (
        f"tau of {measure} between the orders of runs when ties go by doc id (trec), when lines stand"
        " as they are in the file, and when tied documents are averaged. RBP without a level counts grades."
    )


def lists_with_ties(share: float, top: int, median: float) -> str:
    """How many lists have ties, and the median share of tied documents there; NaN: none have."""
    there = f"; there the median share of tied documents is {whole_percent(median)}"
    return (
        f"{whole_percent(share)} of lists have ties among their first {top} documents"
        f"{'' if np.isnan(median) else there}."
    )


def assessment_columns(draws: int, seed: int) -> str:
    """Explain what stands beside MAP and needs no judgments."""
    return (
        "Assessment: A_p at k, judged documents down to k divided by k, however short the list. Random: MAP"
        " with pseudo-judgments drawn from the pool (Soboroff et al. 2001),"
        f" mean of {draws} draws, seed {seed}. Popularity: overlap with the other runs (Aslam &"
        " Savell 2003)."
    )


def random_not_known(collections: Sequence[str]) -> str:
    """Which collections have no known pool to draw from."""
    return (
        f"Random is not known of {', '.join(collections)}: no run is known to have contributed to a pool to"
        " draw from."
    )
