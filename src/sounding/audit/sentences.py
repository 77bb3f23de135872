"""The sentences of `audit`: the headline, the claims with their rules and reasons, and notes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.audit.beyond import DeeperEvaluation
from sounding.audit.leave_out import LeaveOutSummary
from sounding.core.text import first_few, join_names, plural, whole_percent
from sounding.evaluate.result import FEW_TOPICS

NAMED = 5  # topics, runs or documents in a statement

Claim = tuple[str, str]  # the claim, and its reasons with all of their figures


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


# -- what weakens comparisons ------------------------------------------------------------------------

NO_MANUAL_RUN = (
    "No manual run was pooled",
    "Manual runs find relevant documents that automatic runs miss (Voorhees 2002). Without them recall is"
    " overestimated.",
)


def undrawn(count: int, lines: int) -> Claim:
    """Warn of documents with grade -1, which were pooled but not judged."""
    return (
        f"{count:,} of {lines:,} lines of the qrels have grade -1 (not judged)",
        "If the judgments are a sample, estimate values with infAP. Depth, growth and leave-out say little"
        " about a sample.",
    )


def only_relevant(relevant: int, judgments: int) -> Claim:
    """Warn of judgments that seem to contain relevant documents only."""
    return (
        f"Nearly all judgments are relevant ({relevant:,} of {judgments:,}): the qrels seem to list only"
        " relevant documents",
        "Such qrels do not show how deep the pool was or how much of a run was judged. Add the judgments of"
        " nonrelevant documents if you have them.",
    )


def holes(count: int, depth: int, named: Sequence[str]) -> Claim:
    """Warn of unjudged documents within the depth of the pool; `named` are the first of them."""
    return (
        f"{plural(count, 'document')} within the pool depth of {depth} {'is' if count == 1 else 'are'}"
        " unjudged",
        "Judgments were lost, or some topics were pooled less deeply. These are the topics and documents:"
        f" {first_few(named, NAMED, count)}.",
    )


def judged_elsewhere(outside: int, judged: int, reach: int) -> Claim:
    """Warn of judged documents that no pooled run retrieved."""
    return (
        f"{outside:,} of {judged:,} judged documents are not in the first {reach} of any pooled run",
        "Such documents come from runs that you did not give, or from topics that were pooled more deeply.",
    )


def winners(topics: int, measure: str, groups: Sequence[str]) -> Claim:
    """Name the groups without whose documents another run would be the best of a topic."""
    return (
        f"On {plural(topics, 'topic')} another run would be the best if one group were left out",
        f"The best run is that by {measure}. The groups are {first_few(groups, NAMED)}.",
    )


def few_relevant(topics: Sequence[str], few: int) -> Claim:
    """Warn of topics with few relevant documents."""
    return (
        f"{plural(len(topics), 'topic')} {_have(len(topics))} fewer than {few} relevant documents",
        f"On these topics a single document can change the values much: {first_few(topics, NAMED)}.",
    )


def many_relevant(topics: Sequence[str], depth: int) -> Claim:
    """Warn of topics with more relevant documents than the pool is deep."""
    return (
        f"{plural(len(topics), 'topic')} {_have(len(topics))} more relevant documents than the pool is deep"
        f" ({depth})",
        f"On these topics more relevant documents are probably unjudged: {first_few(topics, NAMED)}.",
    )


def short_runs(runs: Sequence[tuple[str, float]], median: float) -> Claim:
    """Warn of runs with short lists, and name their documents per topic."""
    names = [f"{run} {length:.0f}" for run, length in runs]
    return (
        f"{plural(len(runs), 'run')} {_have(len(runs))} short lists",
        f"The values of these runs do not change at larger k. Documents per topic: {first_few(names, NAMED)}"
        f" (median of all runs {median:.0f}).",
    )


def tied_scores(share: float, top: int, measure: str, tau: float) -> Claim:
    """Say whether the tie policy changes the ranking; tau NaN: not known."""
    claim = "Whether the tie policy matters is not known"
    agreement = "is not defined" if np.isnan(tau) else f"is {tau:.3f}"
    return (
        claim if np.isnan(tau) else "The tie policy changes the ranking of the runs",
        f"{whole_percent(share)} of the lists have tied scores in the top {top}. Tau by {measure} between"
        f" ties by doc id and ties by line order {agreement}.",
    )


def popular(depth: int, tau: float) -> Claim:
    """Warn that runs score higher the more of them was judged."""
    return (
        "Runs that were judged more completely score higher",
        f"Tau between MAP and A_p@{depth} is {tau:.3f}.",
    )


# -- what a collection is fit for --------------------------------------------------------------------

ONLY_RELEVANT = " Nearly all judgments are relevant: the qrels seem to list only relevant documents."
UNLISTED = " The qrels list only relevant documents, so what else was judged is not known."
TOPICS_RULE = f"with care at best: fewer than {FEW_TOPICS} topics; no: one topic"
UNJUDGED = {
    "nonrelevant": "Unjudged documents count as not relevant",
    "condensed": "Unjudged documents are removed, so judged ones move up",
}  # by policy

SAMPLE_RULE = "with care: judgments with strata or probabilities are a sample"
NO_COMMON_DOCUMENT_RULE = "no: no document that any run retrieved is judged"
COMPARE_THESE = "Compare these runs by these judgments"
RECALL_AS_FINAL = "Take values of AP, nDCG and other measures of recall as final"
COMPARE_LIKE_POOLED = "Compare new runs that are like the pooled ones"
LIST_POOLED_RUNS = " List the runs that were pooled with --info."
ONE_TOPIC = " One topic proves nothing: the next one may reverse the result."
NO_GROWTH = "The qrels list only relevant documents, so the growth of the pool cannot be extrapolated."
NOTHING_TO_EXTRAPOLATE = (
    "No relevant document was pooled, or the pool is one rank deep, so nothing can be extrapolated."
)
ONE_CONTRIBUTED = "Only one run or group was pooled: without it there are no judgments."
BUT_ONLY_RELEVANT = " But the qrels seem to list only relevant documents."
NO_SURER_THAN_POOLED = "The answer for new runs is never better than for pooled runs."


def sample(documents: int, undrawn: int, strata: int | None) -> Claim:
    """Say how to compare runs if the judgments are a sample.

    `strata` is the number of strata; None: the qrels have inclusion probabilities instead.
    """
    how = f"in {strata} strata" if strata is not None and strata > 1 else "drawn from the whole pool"
    if strata is None:
        how = "each with its inclusion probability"
    left = f"; {undrawn:,} documents of the pool were not drawn (grade -1)" if undrawn else ""
    measures = "statAP" if strata is None else "xinfAP or statAP"
    return (
        f"Compare runs only by measures that estimate from a sample, such as {measures}",
        f"The judgments are a sample: {documents:,} documents, {how}{left}. Depth, growth and leave-out need"
        f" a whole pool. Run sounding evaluate -m {measures.split()[0]} --stats for values with standard"
        " errors.",
    )


def no_common_document(retrieved: Sequence[str], judged: Sequence[str]) -> str:
    """Say that runs and judgments share no document, with an id of each."""
    here = (
        f" Runs have ids such as {retrieved[0]}, the judgments {judged[0]}." if retrieved and judged else ""
    )
    return (
        f"Runs and qrels share no document: none of the {len(retrieved):,} retrieved documents is among the"
        f" {len(judged):,} judged ones. Check that both belong to the same collection and spell ids"
        f" alike.{here}"
    )


def compare_pooled(depth: int) -> str:
    """Claim that pooled runs can be compared down to a depth; 0: not known, or not at all."""
    return f"Compare pooled runs down to rank {depth}" if depth else "Compare pooled runs"


def pooled_rule(shallow: int, most_holed: float, unpooled: float) -> str:
    """State the rule for comparing pooled runs."""
    return (
        f"yes: a pool of depth {shallow} or more, at most {whole_percent(most_holed)} of its documents"
        f" unjudged, and {FEW_TOPICS} topics or more; with care: less than that; no: more than"
        f" {whole_percent(unpooled)} of the top-ranked documents are unjudged, or one topic; not known: the"
        " qrels list only relevant documents"
    )


def pool_and_topics(pool: str, topics: int) -> str:
    """Describe pool and topics."""
    return f"{pool} {'There is' if topics == 1 else 'There are'} {plural(topics, 'topic')}."


def shallow_pool(depth: int) -> str:
    """Warn that a shallow pool says little."""
    return f" Values at k = {depth} depend on few documents per topic."


def topics_allow_no_more(topics: int) -> str:
    """Say that few topics limit an answer."""
    return f" {plural(topics, 'topic')} {'is' if topics == 1 else 'are'} too few for a better answer."


def depths_by_topic(least: float, most: float, median: float) -> str:
    """Give the pool depths of the topics."""
    return f" The pool depth varies by topic from {least:.0f} to {most:.0f} (median {median:.0f})."


def below_the_pool_rule(well: float, half: float) -> str:
    """State the rule for taking values below the pool depth as final."""
    return (
        f"yes: {whole_percent(well)} or more judged, in the median pooled run; with care:"
        f" {whole_percent(half)}; {TOPICS_RULE}"
    )


def below_the_pool(deepest: int, median: float, least: float, most: float, unjudged: str) -> Claim:
    """Say how much of the whole lists of pooled runs is judged; `unjudged` is the policy."""
    return (
        f"Take values of P@{deepest} and measures like it as final",
        f"{whole_percent(median)} of the top {deepest:,} is judged in the median run"
        f" ({whole_percent(least)} to {whole_percent(most)}). {UNJUDGED[unjudged]}.",
    )


def deeper_rule(well: float, most: float, times: int) -> str:
    """State the rule for comparing pooled runs deeper than they were pooled."""
    return (
        f"yes: {whole_percent(well)} or more of the conclusions (paired t tests of pooled runs) would stand"
        f" if these ranks were judged; with care: {whole_percent(most)}; never better than for pooled runs;"
        f" not tried below {times} times the pool depth"
    )


def compare_deeper(k: int | None, measure: str) -> str:
    """Claim that pooled runs can be compared deeper than the pool, down to a depth if there is one."""
    down = f", down to rank {k:,}" if k else ""
    return f"Compare pooled runs by {measure} at ranks beyond the pool depth{down}"


def would_stand(found: Sequence[DeeperEvaluation]) -> str:
    """Say how many conclusions would stand at each depth, the last one first; or why that is not known."""
    if found[-1].reason:
        return f"Whether its conclusions would stand after more judging is not known: {found[-1].reason}."
    first, *others = found[::-1]
    also = join_names([f"{whole_percent(one.holds)} by {one.measure}" for one in others])
    return (
        f"If the runs were judged to that depth, {whole_percent(first.holds)} of"
        f" {plural(first.pairs, 'conclusion')} would stand{f', {also}' if others else ''} (a forecast)."
    )


def beyond_headline(found: Sequence[DeeperEvaluation]) -> str:
    """Answer how many conclusions by the first measure would stand at each depth; or why it is not known."""
    known = [one for one in found if not one.reason]
    if not known:
        return f"Whether conclusions would stand after deeper judging is not known: {found[0].reason}."
    first = [one for one in known if one.measure.name == known[0].measure.name]
    shares = join_names([f"{whole_percent(one.holds)} by {one.measure}" for one in first])
    return (
        f"Of {plural(known[0].pairs, 'conclusion')} about pooled runs, {shares} would stand if the runs were"
        " judged that deep (a forecast)."
    )


def recall_rule(small: float, large: float) -> str:
    """State the rule for taking values of recall as final."""
    return (
        f"yes: a pool twice as deep would add at most {whole_percent(small)} relevant documents (Zobel's"
        f" extrapolation); with care: {whole_percent(large)}; {TOPICS_RULE}; never better than for pooled"
        " runs"
    )


def to_come(known: int, late: int, more: float, likely: float, half: int) -> str:
    """Say how many relevant documents a pool twice as deep would add to those known.

    `more` by Zobel's extrapolation, `likely` by a Poisson fit; `late` were found only below rank `half`.
    """
    return (
        f"A pool twice as deep would add {more:,.0f} relevant documents ({whole_percent(more / known)}) by"
        f" Zobel's extrapolation, {likely:,.0f} ({whole_percent(likely / known)}) by a Poisson fit."
        f" {whole_percent(late / known)} of the {known:,} known relevant documents were found only below rank"
        f" {half}."
    )


def leave_out_rule(measure: str, small: float, large: float) -> str:
    """State the rule for comparing new runs that are like the pooled ones."""
    return (
        f"yes: leaving out a group changes {measure} of its runs by at most {small:g}% on average;"
        f" with care: {large:g}%; never better than for pooled runs"
    )


def changes(measure: str, whole: LeaveOutSummary, kinds: Sequence[str], on_ten: bool) -> str:
    """Say how much leaving groups out changes; `on_ten`: also on the topics with most relevant documents."""
    ten = f" ({whole.mean_percent_on_ten:.1f}% on the ten topics with most relevant documents)"
    return (
        f"If the relevant documents that only its group found are left out, the {measure} of a pooled run"
        f" changes by {whole.mean_percent:.2f}% on average{ten if on_ten else ''} and by at most"
        f" {whole.max_percent:.2f}% ({whole.most_changed}). The rank of a run changes by"
        f" {whole.mean_places:.2f} on average and by at most {whole.max_places}."
        + (f" By kind of run, the changes are: {'; '.join(kinds)}." if kinds else "")
    )


def changes_of_kind(kind: str, part: LeaveOutSummary) -> str:
    """Say how much leaving groups out changes the runs of a kind."""
    return f"{kind} runs {part.mean_percent:.2f}%, at most {part.max_percent:.2f}% ({part.most_changed})"


def nothing_to_change(measure: str) -> str:
    """Say that every run has 0."""
    return f"{measure} of every pooled run is 0, so leaving out groups changes nothing."


def absent_runs(outside: int, judged: int) -> str:
    """Warn that leave-out misleads if many judged documents came from runs that were not given."""
    return (
        f" But {outside:,} of {judged:,} judged documents came from runs that you did not give, so documents"
        " may only seem unique."
    )


def not_as_listed(unpooled: float) -> str:
    """Say that runs were not pooled as the info file says."""
    return (
        f" But more than {whole_percent(unpooled)} of the first-ranked documents of these runs are unjudged,"
        " so they were not pooled as listed."
    )


def new_run_rule(well: float, half: float) -> str:
    """State the rule for comparing a new run."""
    return (
        f"yes: {whole_percent(well)} or more of the top k judged; with care:"
        f" {whole_percent(half)}, and as much as the lower quartile of left-out runs; never"
        " better than for pooled runs"
    )


def compare_new_run(run: str, depth: int | None) -> str:
    """Claim that a new run can be compared, down to a depth if one is known."""
    return f"Compare {run} with the others{f' down to rank {depth}' if depth else ''}"


def judged_of_new_run(shares: dict[int, float]) -> str:
    """Say how much of a new run was judged, by depth."""
    in_words = ", ".join(f"{whole_percent(share)} of the top {depth}" for depth, share in shares.items())
    return f"Judged: {in_words} (means over topics)."


def usual_shares(shares: Sequence[float]) -> str:
    """Say how much of a pooled run is judged if its group is left out."""
    return (
        f"The lower quartiles of pooled runs whose group is left out are"
        f" {', '.join(map(whole_percent, shares))}."
    )


def first_unjudged(rank: float) -> str:
    """Give the mean rank of the first unjudged document of a new run."""
    return f"Its first unjudged document is at rank {rank:.1f} on average."


def conclusions_rule(most: float, half: float) -> str:
    """State the rule for relying on conclusions about a new run."""
    return (
        f"yes: {whole_percent(most)} or more of its conclusions have a chance of 95% or more to stand; with"
        f" care: {whole_percent(half)}"
    )


def use_conclusions(run: str, measure: str) -> str:
    """Claim that conclusions about a new run can be used."""
    return f"Use conclusions about {run} by {measure}"


def conclusions(safe: int, count: int, until: str, others: Sequence[str], documents: int, top: int) -> str:
    """Say how many conclusions about a new run would stand, and what to judge for the others."""
    said = f"{safe:,} of {count:,} conclusions would very likely (95%+) stand if {until} were judged."
    if not others:
        return said
    judge = f" Judge {plural(documents, 'unjudged document')} in the top {top} of these runs first."
    return f"{said} Open: the comparison with {first_few(others, NAMED)}.{judge if documents else ''}"


def conclusions_not_known(reason: str) -> str:
    """Say why it is not known whether conclusions about a new run would stand."""
    return f"Whether they would stand after more judging is not known: {reason}."


# -- the page of the verdict, and below the tables ---------------------------------------------------

LISTED_ALONE = "Nearly all judgments are relevant: the qrels seem to list only relevant documents."
NOTHING_GROWS = f"{LISTED_ALONE} So the growth of the pool cannot be extrapolated."
RECALL_ALONE = f"{LISTED_ALONE} Judged means relevant here, so assessment is a form of recall."
ALL_JUDGED = "Every document of every pooled run is judged."
POOL_COLUMNS = (
    "The table counts the relevant documents of a pool of this depth: those that a run has down to that"
    " depth, and those that it has below. The numbers are means over pooled runs and topics, with standard"
    " deviations."
)
RUN_COLUMNS = (
    "A column such as @10 shows the judged share of the run's top 10, averaged over topics. The other columns"
    " show the mean rank of the first unjudged document; shares of all retrieved documents, over all topics"
    " together; relevant documents that the run did not retrieve; and documents per topic."
)
CHANGED_WITHOUT = "Changed without: the groups without whose unique documents another run would be the best."
BEYOND_COLUMNS = (
    "A conclusion is the result of a paired t test of two pooled runs (alpha 0.05) on the judgments there"
    " are. Stand: the share of the conclusions that are expected to be the same if the top k of every pooled"
    " run were judged. Very likely: the share of the conclusions that stand with a chance of 95% or more."
    " Both are forecasts of the relevance model; docs/audit.md compares such forecasts with the truth."
)
GROWTH_COLUMNS = (
    "The columns are means per topic: the relevant and the judged documents in a pool of this depth; the"
    " relevant documents that are new at this depth; and their share of all documents that are new there."
)
UNIQUE_COLUMNS = (
    "Unique: the relevant documents that only one group found, then the same by kind of the runs that found"
    " them. Unique judged: all documents that only one group found, relevant or not."
)
AS_DEEP = "A document is unique if no run of another group, pooled or not, retrieved it down to that depth."


def size(source: str, topics: int, judgments: int, relevant: int, runs: int, groups: int) -> str:
    """Give the size of the collection in a sentence."""
    return (
        f"{source}: {plural(topics, 'topic')}, {plural(judgments, 'judgment')}, {relevant:,} of them"
        f" relevant; {plural(runs, 'run')} of {plural(groups, 'group')}."
    )


FIRST = {  # the headline for each answer to the first claim
    "yes": "Yes, this collection can be used to {}.",
    "with care": "This collection can be used with care to {}.",
    "no": "This collection cannot be used to {}.",
    "not known": "It is not known whether this collection can be used to {}.",
}
OTHERS = {"with care": "Take care when you {}.", "no": "Do not {}."}


def headline(claims: Sequence[tuple[str, str]]) -> str:
    """Answer what the collection can be used for, from each claim and its answer, the main one first."""
    (claim, answer), *others = [(text[0].lower() + text[1:], answer) for text, answer in claims]
    parts = [FIRST[answer].format(claim)]
    for kind, words in OTHERS.items():
        limited = [text for text, other in others if other == kind]
        parts += [words.format(_either(limited))] if limited else []
    return " ".join(parts)


def _either(claims: Sequence[str]) -> str:
    """Number claims if there are several: `(1) compare a; (2) take b as final`."""
    if len(claims) == 1:
        return claims[0]
    return "; ".join(f"({number}) {text}" for number, text in enumerate(claims, 1))


def policies_note(policies: str) -> str:
    """Name the policies that differ from the defaults."""
    return f"Policies that differ from the defaults: {policies}."


def more_sections(names: Sequence[str]) -> str:
    """Name the sections that can be shown."""
    return f"For details, add --section with one of {', '.join(names)}; or --all."


def rows_shown(shown: int, rows: int) -> str:
    """Say that only the first rows are shown."""
    return f"{shown} of {rows} rows are shown; --top N shows more."


def first_unjudged_on_average(rank: float) -> str:
    """Give the mean rank of the first unjudged document of pooled runs."""
    return (
        "Counting all judgments, the first unjudged document of a pooled run is at rank"
        f" {rank:.1f} on average."
    )


def in_no_run(judged: int, reach: int) -> str:
    """Say how many judged documents no pooled run retrieved."""
    return f"{judged:,} judged documents are not in the top {reach} of any pooled run."


def unjudged_in_pool(named: Sequence[str], most: int, count: int) -> str:
    """Name the first unjudged documents of the pool."""
    return f"Unjudged within the pool depth (topic and document): {first_few(named, most, count)}."


def judged_of_runs(depth: int, median: float, run: str, least: float) -> str:
    """Say how much of the runs was judged, and name the run that was judged least."""
    return (
        f"In the median run, {whole_percent(median)} of the top {depth} is judged; the lowest share is"
        f" {whole_percent(least)}, in {run}."
    )


def relevant_of_topics(median: float, fewest: tuple[str, int], most: tuple[str, int]) -> str:
    """Say how many relevant documents topics have, and name the topics with fewest and most."""
    return (
        f"The median topic has {median:g} relevant documents; topic {fewest[0]} has fewest ({fewest[1]:,}),"
        f" topic {most[0]} most ({most[1]:,})."
    )


def best_run_by(measure: str) -> str:
    """Name the measure that decides which run is the best of a topic."""
    return f"The best run of a topic is the best by {measure}."


def topic_columns(end: int) -> str:
    """Explain the columns of topics that were pooled; `end` is the last rank of the lists."""
    return (
        "Pool depth: the rank to which the runs were pooled, ignoring single holes. Judged depth: the rank to"
        " which all of them are judged (a dash: to the end). Second half: the relevant documents from below"
        " half of the depth. To come: the relevant documents that Zobel's extrapolation expects at twice the"
        " depth. Likely to come: the same by a Poisson fit. Remaining: the relevant documents that Zobel's"
        " law expects down to the depth at which it ends (a dash: it does not end), or to the end of the"
        f" lists at {end:,}."
    )


def no_pool(names: Sequence[str]) -> str:
    """Name the collections that no growth is known of."""
    return f"No pool is known: {', '.join(names)} (list the pooled runs with --collection-info)."


def second_half(late: int, relevant: int) -> str:
    """Say how many relevant documents come from deep in the pool."""
    return f"{late:,} of {relevant:,} relevant documents come from below half of the depth."


def twice_as_deep(more: float, likely: float) -> str:
    """Say what a pool twice as deep would add by two laws, and how well these did on TREC-8."""
    return (
        f"A pool twice as deep would add about {more:,.0f} by Zobel's extrapolation, {likely:,.0f} by a"
        " Poisson fit of C d^s (topic by topic: --section topics). On TREC-8, from pools of depth 5 to 50,"
        " the first was 5 to 37% too low; the second was between 1% too low and 37% too high."
    )


def remaining(more: float, end: int, within: int, topics: int) -> str:
    """Say how many relevant documents remain by Zobel's law, and on how many topics it ends in the lists."""
    return (
        f"Zobel's law expects {more:,.0f} more relevant documents in all. On {within} of"
        f" {plural(topics, 'topic')} it"
        f" ends within the lists (at most {end:,} documents): it expects none below that depth. On the others"
        " the end of the lists is the limit. The law was never tested this deep."
    )


def largest_part(part: str, pool: float, relevant: float) -> str:
    """Name the part of the collection that gave most documents to the pool."""
    return (
        f"{part} gave {whole_percent(pool)} of the pooled documents, the most of all parts, and"
        f" {whole_percent(relevant)} of the relevant ones."
    )


def part_columns(contributing: int, reach: int) -> str:
    """Explain the columns of parts of the collection."""
    return (
        f"Pooled: the documents that the {contributing} pooled runs brought into the pool. Judged share: how"
        f" much of the top {reach} of all runs is judged. Relevant rate: the share of the judged documents"
        " that are relevant. Runs: the pooled runs that brought at least one document."
    )


def deeper_pool(first: int, depth: int, by_run: Sequence[int], known: int, new: int, tau: float) -> str:
    """Say how many relevant documents a deeper pool brought, by run and by topic."""
    share = whole_percent(new / (known + new)) if known + new else "0%"
    spread = (
        f" A run has {np.mean(by_run):.1f} of them on average, from {min(by_run):,} to {max(by_run):,}."
        if by_run
        else ""
    )
    topics = (
        ""
        if np.isnan(tau)
        else f" Topics with many relevant documents above also have many new ones: tau {tau:.2f}."
    )
    return (
        f"The pool of depth {first} had {known:,} relevant documents; judging it to {depth} added {new:,}"
        f" ({share} of all).{spread}{topics}"
    )


def title_words_overall(overall: float) -> str:
    """Give the share of title words in relevant documents."""
    return f"Relevant documents contain {whole_percent(overall)} of the words of their topic's title."


def title_words(*, pooled: bool) -> str:
    """Explain the shares of title words."""
    where = "a pooled run" if pooled else "any run (no run is known to have been pooled)"
    return (
        "The table shows the mean share of a title's words that judged documents contain, by their best rank"
        f" in {where}."
    )


def without_words(texts: int, titles: int) -> str:
    """Say what was skipped because a text or a title is missing."""
    return (
        f"Skipped: {texts:,} judged documents that the corpus does not contain,"
        f" {titles} topics without a title."
    )


def unique_documents(reach: int, unique: int, relevant: int) -> str:
    """Say how many relevant documents only one group found."""
    return (
        f"{unique:,} of {relevant:,} relevant documents are in the top {reach} of the pooled runs of one"
        " group only."
    )


def leave_out_columns(remove: str, among: str) -> str:
    """Explain the columns of leave-out: which documents are lost, and among which runs they are unique."""
    lost = "relevant documents" if remove == "relevant" else "judgments"
    others = (
        "no other run or group contributed" if among == "pooled" else "no other run retrieved, pooled or not"
    )
    return (
        f"Removed: the {lost} that {others}. A change is the value without them minus the value with them,"
        ' so a run that loses has a minus. "%": the mean and the largest absolute change of the pooled runs'
        ' in percent, and the run that changes most. "signed": the mean change with its sign. "change": the'
        ' mean absolute change of the measure. "places": the mean and the largest change of rank among pooled'
        ' runs by the remaining judgments. "on ten": the "%" on the ten topics with most relevant documents.'
    )


def reinforced(k: int, tau: float, group_tau: float) -> str:
    """Say how far the overlap of runs goes with their judged share."""
    return (
        f"The more a run overlaps with other pooled runs, the more of its top {k} is judged, with tau"
        f" {_coefficient(tau)} ({_coefficient(group_tau)} for runs of other groups)."
    )


def overlap_columns(depth: int, k: int) -> str:
    """Explain overlap and assessment."""
    return (
        f"Overlap: the mean share of a run's top {depth} that another pooled run has in its top {depth}."
        f" Group overlap: the same for pooled runs of other groups. Assessment: A_p@{k}, the judged documents"
        f" in the top {k} divided by {k}, even for shorter lists."
    )


ADDED = {
    "yes": "a pooled run", "no": "a run not pooled", "new": "a new run", "fusion": "fusion of the pooled",
}  # how a run that is added to the pool is called, by whether it was pooled  # fmt: skip


def added_columns(depth: int) -> str:
    """Explain what is added to the pool, and the rises of the judged share."""
    return (
        "The numbers are means over the added runs. A pooled run: A_p@k now, minus A_p@k without the"
        f" documents that only this run contributed. A run not pooled: A_p@k with its top {depth} judged,"
        ' minus A_p@k now. "n": how many runs were added. "A_p@k": the judged share of the added run now.'
        ' "documents": the documents per topic that are judged for its sake. "itself", "its group" and "other'
        ' groups": the rise of A_p@k of the run, of the other runs of its group, and of the runs of other'
        ' groups. "times": the rise of its group divided by that of other groups. "most, elsewhere" and'
        ' "rise": the run of another group whose A_p@k rises most, and how much it rises.'
        " A copy of a pooled run adds nothing, because it brings no new document."
    )


def rise_by_adding(k: int, same: float | None, others: float | None) -> str:
    """Say how far pooling one more run raises the judged share of other runs; None: there are none."""
    raised = [
        f"that of other runs of its group by {same:.4f}" if same is not None else "",
        f"that of runs of other groups by {others:.4f}" if others is not None else "",
    ]
    if not any(raised):
        return f"No pooled run shows what pooling one more does to A_p@{k}."
    return f"Pooling one more run raises A_p@{k}: {', '.join(filter(None, raised))} on average."


def fusion_assessed(k: int, fused: float, pooled: Sequence[float]) -> str:
    """Say how far the fusion of the pooled runs is judged without having been pooled."""
    behind = sum(share < fused for share in pooled)
    runs = plural(len(pooled), "pooled run")
    return (
        f"The fusion (reciprocal ranks, c = 60) was not pooled, yet it is judged more completely than"
        f" {f'all {runs}' if behind == len(pooled) else f'{behind:,} of {runs}'}: A_p@{k} {fused:.3f}, median"
        f" of these runs {float(np.median(pooled)):.3f}, highest {max(pooled):.3f}."
    )


def _coefficient(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "not defined"


def tie_rules(measure: str) -> str:
    """Explain the tie policies that are compared."""
    return (
        f"Tau by {measure} between the rankings of the runs under three tie policies: trec (by document id),"
        " file (lines as they stand) and average (mean over tied documents). RBP without a level uses"
        " the grades as gains."
    )


def lists_with_ties(share: float, top: int, median: float) -> str:
    """Say how many lists have ties, and the median share of tied documents there; NaN: none have."""
    there = f"; the median share of tied documents in them is {whole_percent(median)}"
    return (
        f"{whole_percent(share)} of the lists have ties in their top {top}"
        f"{'' if np.isnan(median) else there}."
    )


def ranked_by_assessment(k: int, tau: float) -> str:
    """Say how far the judged share alone ranks the runs as MAP does."""
    return (
        f"If the runs are ranked by the judged share of their top {k}, this ranking agrees with that by MAP"
        f" with a tau of {_coefficient(tau)}. The closer tau is to 1, the more likely it is that MAP only"
        " shows which runs were judged."
    )


def assessment_columns(draws: int, seed: int) -> str:
    """Explain the columns beside MAP that need no judgments."""
    return (
        "Assessment: A_p@k, the judged documents in the top k divided by k, even for shorter lists. Random:"
        " MAP with pseudo-judgments that are drawn from the pool (Soboroff et al. 2001), mean of"
        f" {draws} draws, seed {seed}. Popularity: the overlap with the other runs (Aslam & Savell 2003)."
    )


def random_not_known(collections: Sequence[str]) -> str:
    """Name the collections without a known pool to draw from."""
    return (
        f"The column random is empty for {', '.join(collections)}, because no run is known to have been"
        " pooled."
    )
