"""Write the JSON schema of each command's output: `python -m sounding.explain.schemas FOLDER`.

A JSON output is an object with `schema`, facts about the whole output, and `rows`. A key has one
meaning in all commands, so most keys are described once, in FIELDS.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sounding.render.tables import SCHEMA_VERSION
from sounding.selection.strategies import STRATEGIES

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TYPES = {
    "s": "string", "n": "number", "i": "integer", "b": "boolean", "o": "object", "a": "array", "0": "null",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOutput:
    """The JSON output of a command."""

    title: str
    always: str  # facts that are always present, separated by blanks
    sometimes: str = ""  # facts that depend on the options
    rows: str = ""  # columns of `rows`, of all views together
    # columns named after a measure, a run or a rank
    patterns: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)  # more lists of rows, and their columns
    own: Mapping[str, str] = field(default_factory=dict)  # fields with a meaning of their own
    meanings: Mapping[str, str] = field(default_factory=dict)  # the same for fields of any simple type


# Name: letters of the types, then the meaning.
FIELDS: Mapping[str, str] = {
    # facts
    "schema": "s The name and version of this schema.",
    "headline": "s The answer in one or two sentences.",
    "next": "s0 The command to type next.",
    "notes": "a Notes, the most important first.",
    "rows": "a The table: one object per row.",
    "policies": "o Every policy and its value.",
    "level": "n The lowest grade that counts as relevant.",
    "remarks": "a What was noticed while the files were read.",
    "seed": "i The seed of all random draws.",
    "parameters": "os Parameters of the strategy.",
    "sure": "n The confidence that counts as sure.",
    "truth": "s What the values would be if all these documents were judged.",
    "findings": "a Cautions (guidelines of Lu, Moffat & Culpepper 2016): guideline, heed, text.",
    "guideline": "s The guideline.",
    "heed": "b Whether it applies here.",
    "test": "so The significance test, with its correction and level.",
    "alpha": "n The significance level.",
    "correction": "s The correction for multiple tests.",
    "draws": "i The number of draws.",
    # runs, topics, documents
    "run": "s The name of a run.",
    "run_a": "s The first run of a pair.",
    "run_b": "s The second run of a pair; differences are the first minus the second.",
    "other": "s The other run, assessor or measure of a pair.",
    "against": "s What the row is compared with.",
    "runs": "ia The runs, or their number.",
    "group": "s Who submitted the run.",
    "kind": "s0 The kind of run, file or problem.",
    "pooled": "bis Whether the run was pooled, or the number of pooled runs or documents.",
    "topic": "s0 The topic; null: the mean over topics.",
    "topics": "iao The topics, or their number.",
    "doc": "s The document id.",
    "rank": "ni The rank of the run or document.",
    "pool_rank": "i The best rank of the document in a pooled run.",
    "order": "si0 Whether the order of the two runs is proven, probable or open, or the place in a list.",
    "grade": "in The grade of the judgment.",
    "length": "n Documents per topic.",
    "short": "b Whether the lists of the run are short.",
    # measures and values
    "measure": "s The measure.",
    "other_measure": "s The measure that it is compared with.",
    "value": "n0s The value; null: not known.",
    "mean": "n0 The mean over topics.",
    "mean_a": "n The mean of the first run.",
    "mean_b": "n The mean of the second run.",
    "lower": "n0 The lowest value that further judgments can give.",
    "upper": "n0 The highest value that further judgments can give.",
    "lowest": "n The lowest mean of a run.",
    "highest": "n The highest mean of a run.",
    "expected": "n0 The expected value once all documents are judged.",
    "deviation": "n0 The standard deviation.",
    "error": "n0 The standard error.",
    "statistic": "s Which statistic the value is.",
    "slice": "s The group of topics.",
    "text": "s0 The value as text, or the message.",
    "residual_unjudged": "n0 What unjudged documents could still add.",
    "residual_tail": "n0 What documents below the cut-off could still add.",
    "k": "i The evaluation depth.",
    "other_k": "i The depth that it is compared with.",
    "weight": "n The weight of the document or rank.",
    "basis": "s Utility or recall.",
    "claims": "si0 What holds for the measure, or the number of claims.",
    # pairs
    "difference": "n0 The first mean minus the second, over the topics on which both have a value.",
    "ci_low": "n0 The lower end of the confidence interval of the difference, of this pair alone.",
    "ci_high": "n0 The upper end of the confidence interval of the difference.",
    "p": "n0 The p-value of the pair by itself; null: fewer than 2 common topics.",
    "p_adjusted": "n0 The p-value, corrected for all pairs of this measure that could be tested.",
    "p_at_floor": "b Whether no smaller p-value was possible with these draws.",
    "effect_size": "n0 Cohen's d_z: mean over standard deviation of the differences by topic.",
    "wins": "i Topics on which the first run is better.",
    "ties": "io Topics on which both are equal.",
    "losses": "i Topics on which the second run is better.",
    "assessment_difference": "n0 The difference in judged share (A_p at k, or --assessment).",
    "assessment_p": "n0 The p-value of the difference in judged share, corrected like the others.",
    "case": "i0 The case of Baillie et al., 1 to 4; null: no test was possible.",
    "case_alone": "i0 The case of the pair by itself, before correction, which the advice goes by.",
    "strength": "s0 strong or weak.",
    "settled": "bo0 Whether no judgment of unjudged documents can reverse the order; null: not known.",
    "difference_least": "n0 The lowest difference that further judgments can give.",
    "difference_most": "n0 The highest difference that further judgments can give.",
    "advice": "s What would make the conclusion firmer.",
    "conclusion": "s What a paired t test says of the first run: better, worse or not distinguished.",
    "holds": "n0 The chance that the conclusion holds after full judging; null: not stated.",
    "holds_top10": "n0 The same as holds if only the first 10 of every run were judged.",
    "sign_holds_top10": "n0 The same as sign_holds if only the first 10 of every run were judged.",
    "sign_holds": "n0 The chance that the same run stays ahead after full judging; null: not stated.",
    "equivalence_p": "n0 The p-value of the test that the two are within the margin.",
    "noninferiority_p": "n0 The p-value of the test that the first is not worse by the margin.",
    "confidence": "n0a The confidence that the order is right; null: not stated.",
    "not_stated": "s0 Why no confidence is stated.",
    "collection": "so The collection.",
    "count": "i0 The number of pairs, topics or lines.",
    "share": "n The share of all of them.",
    "required": "n The difference that a claim requires.",
    "extrapolated": "b Whether the figure is extrapolated to more topics.",
    "errors": "i0 The number of wrong claims.",
    "error_rate": "n0 The share of claims that are wrong.",
    "fuzziness": "n0 The share of comparisons without a claim.",
    "pairs": "ioa The pairs of runs, or their number.",
    # judging, pools
    "judged": "nioa The judged documents: their share, or their number.",
    "judgments": "ia The number of judgments.",
    "relevant": "ni The number of relevant documents, or their share.",
    "nonrelevant": "n The share that was judged not relevant.",
    "unjudged": "n The share that was not judged.",
    "documents": "io The number of documents.",
    "hours": "n The hours that judging takes.",
    "seconds": "n The seconds per document.",
    "depth": "in The pool depth.",
    "pool_depth": "in0 The pool depth; null: the whole pool.",
    "judged_depth": "n0 The depth down to which every document is judged.",
    "pool": "sio How deep the pool is, and which runs contributed.",
    "contributing": "ai The pooled runs, or their number.",
    "chance": "n0 The probability that the document is relevant; null: not stated.",
    "completion": "i The place of the document in the order of judging.",
    "stratum": "i The stratum of the sample.",
    "inclusion_probability": "n The probability that the sample includes the document.",
    "strategy": "s The strategy.",
    "chosen": "s How the documents were chosen.",
    "reason": "s0 Why a value is missing.",
    "tau": "n0 Kendall's tau.",
    "agreement": "n0ao The agreement of two rankings or assessors.",
    **{
        name: f"n0 {meaning}"
        for name, meaning in {
            "tau_a": "Kendall's tau over all pairs.",
            "tau_b": "Kendall's tau, corrected for ties.",
            "tau_ap": "Tau with more weight at the top.",
            "tau_ap_symmetric": "The mean of tau_ap over both directions.",
            "tau_ap_b": "Symmetric tau_ap, corrected for ties.",
            "spearman": "The correlation of ranks.",
            "pearson": "The correlation of values.",
            "rmse": "The root mean squared difference of the values.",
            "rbo": "Rank-biased overlap, extrapolated.",
            "rbo_b": "Rank-biased overlap, corrected for ties.",
            "rbo_w": "Rank-biased overlap as its authors treat ties.",
            "rbo_minimum": "The least that rank-biased overlap can be below the lists.",
            "rbo_maximum": "The most that rank-biased overlap can be below the lists.",
        }.items()
    },
    "coefficient": "s The coefficient of rank correlation.",
}

ENDS = {"low": "lower", "high": "upper"}
AGREEMENT = (
    "overlap overlap_low overlap_high agreement agreement_low agreement_high kappa kappa_low kappa_high alpha"
    " alpha_low alpha_high kappa_grades kappa_grades_low kappa_grades_high kappa_weighted kappa_weighted_low"
    " kappa_weighted_high alpha_grades alpha_grades_low alpha_grades_high alpha_ordinal alpha_ordinal_low"
    " alpha_ordinal_high"
)
RANKINGS = (
    "measure k against spearman pearson rmse rbo rbo_b rbo_w tau_a tau_b tau_ap tau_ap_symmetric tau_ap_b"
    " rbo_minimum rbo_maximum most_places moved_run"
)
EACH_RUN = "run measure k mean lower upper"
VOLATILITY = "measure k other_measure other_k coefficient agreement"
POOLS = (
    "pool_depth measure judgments relevant tau_b tau_ap_b rbo_b most_places pairs reversed significant"
    " claims_reversed claims_lost claims_missed"
)
SUBSETS = "share draw measure judgments relevant tau_b tau_ap_b"
AGREE_TABLES = {
    "pairs": (
        f"assessors topics documents {AGREEMENT} reason"
        " pairs same same_low same_high preferred preferred_low preferred_high"
    ),
    "grades": "assessors grade agreement agreement_low agreement_high reason",
    "confusions": "assessor other grade other_grade documents",
    "rejected": (
        "assessor relevant rejected share share_low share_high mean_over_topics mean_over_topics_low"
        " mean_over_topics_high reason"
    ),
    "bias": "assessor grade documents given by_others bias bias_low bias_high reason",
    "topics": "topic documents judged_by_all contested overlap kappa reason",
    "taus": (
        "measure coefficient rankings mean least most swaps_mean swaps_least swaps_most reason"
    ),
    "systems": "measure system mean least most original union intersection union_inside intersection_inside",
    "swaps": "measure system other difference swapped",
    "top": "measure assessor top shift tau reason best best_by_others favored favor moved places",
    "contradictions": "topic assessor pairs triples contradicted in_circles circle",
    "ranks": "topic doc wins comparisons strength strength_low strength_high rank_best rank_worst reason",
}  # fmt: skip
RANKS = "^(judged_[0-9]+|in pool@[0-9]+)$"

DOCUMENTS: Mapping[str, JsonOutput] = {
    "evaluate": JsonOutput(
        title="Values of the runs",
        always=(
            "headline next policies level topics topics_without_relevant mean_lengths judged topics_missing"
            " notes rows"
        ),
        sometimes="baseline",
        rows=(
            "run measure topic value lower upper residual_unjudged residual_tail slice statistic expected"
            " deviation error difference p_adjusted text"
        ),
        own={
            "topics_without_relevant": "a Topics without a relevant document.",
            "topics_missing": "o Judged topics that a run does not contain, by run.",
            "mean_lengths": "o The mean number of retrieved documents per topic, by run.",
            "baseline": "o The baseline, with the test and its correction.",
        },
    ),
    "compare": JsonOutput(
        title="Comparisons of runs",
        always="headline next notes rows",
        sometimes=(
            "policies settled test inconclusive omnibus runs topics cases assessed_by collections alpha"
            " correction power pairs pair documents legend plan slices limits baseline"
        ),
        rows=(
            "run_a run_b measure k topics difference ci_low ci_high p p_adjusted assessment_difference"
            " assessment_p case strength settled advice effect_size wins ties losses p_at_floor mean_a mean_b"
            " difference_least difference_most case_alone collection runs pairs count share required"
            " extrapolated claims errors error_rate fuzziness equivalence_p noninferiority_p conclusion holds"
            " sign_holds holds_top10 sign_holds_top10 rank run value against slice result why interval mean"
            " other_mean tested significant reversed"
        ),
        own={
            "inconclusive": "o Why a test could not have found a difference, by measure.",
            "omnibus": "o The test of all runs together (anova), by measure.",
            "cases": "o The number of pairs in each case, by measure.",
            "assessed_by": "o The measure of assessment tested beside each measure.",
            "collections": "o Each collection, with its runs and topics.",
            "power": "o Which test the power is that of.",
            "pair": "o Values of the pair by topic, by measure.",
            "documents": "o The documents that matter for the pair, by measure.",
            "legend": "s What the rows mean.",
            "slices": "o The number of topics in each group.",
            "k": "i The depth at which assessment is tested: the cut-off, or where the weight ends.",
            "topics": "iao The topics, or the number of topics on which both runs have a value.",
            "tested": "b Whether the group has enough topics for the test.",
            "significant": "b0 Whether the difference is significant; null: not tested.",
            "reversed": "b0 Whether the order differs from the order over all topics.",
            "plan": "o The plan file, and how the comparison deviates from it.",
        },
        meanings={
            "baseline": "The baseline of a group's comparison.",
            "interval": "What the interval is of: mean, median or pseudomedian.",
            "limits": "Why a test could not have found a difference.",
            "other_mean": "The mean of the run it is compared with.",
            "result": "ahead, behind or undecided, with --for.",
            "why": "Why the comparison is undecided.",
        },
    ),
    "audit": JsonOutput(
        title="What a collection can be used for",
        always="collection measures policies remarks rows",
        sometimes=(
            "headline pool ties assessment sections growth deeper leave_out reinforcement added next notes"
            " topics sampled measure level alpha fitness"
        ),
        rows=(
            "about answer claim figure value rule why collection run kind performance assessment random"
            " popularity tau depth relevant judged new_relevant share_relevant by left_out pooled unique"
            " unique_judged measure without change percent rank rank_without percent_on_ten part pool_share"
            " judged_share relevant_share relevant_rate runs in_pool in_pool_deviation past past_deviation"
            " first_unjudged first_unjudged_deviation overlap group_overlap group length short nonrelevant"
            " unjudged relevant_missed nonrelevant_missed tied_share trec file average topic pool_depth"
            " judged_depth second_half to_come likely_to_come remaining last_depth best_run changed_without"
            " judge favored low high p p_adjusted new_documents new_judged k documents own same_group"
            " other_groups most_raised most times pairs significant holds very_likely"
        ),
        patterns={RANKS: "n0 The judged share of the top documents, by depth.", "@|^[A-Z]": "n0 A measure."},
        own={
            "overlap": "n0 The share of a run's pooled documents that another run pooled too.",
            "measures": "a The measures.",
            "sampled": "b Whether people judged a sample with known probabilities.",
            "fitness": "a Agreement, ranking, favored runs and documents to check, for each judge.",
            "favored": "n0 How much more the labels of its documents promise than those of other runs.",
            "growth": "o How the pool grew with its depth.",
            "deeper": "o What judging beyond a first depth added: relevant documents above and below it.",
            "leave_out": "a What leaving out runs or groups changes.",
            "reinforcement": "o Tau of assessment with overlap.",
            "added": "a Whose judged share rises with one more run in the pool: means by kind of run and k.",
            "documents": "n Documents that are judged only because of the run, or would be, for each topic.",
            "own": "n0 How much A_p@k of the run rises with it in the pool.",
            "times": "n The depth, in units of the pool's.",
            "unjudged": "n The share of documents, or the number, that was not judged.",
            "significant": "i0 Pairs that differ significantly; null: not known.",
            "holds": "n0 The share of conclusions expected to stand after deeper judging; null: not known.",
            "very_likely": "n0 The share of conclusions with a chance of 95% or more to stand.",
            "most_raised": "s0 The run of another group whose A_p@k rises most.",
            "most": "n0 By how much it rises.",
            "assessment": "an0 Rankings that need no judgments, by collection.",
            "sections": "o The rows of each section, by its name.",
            "about": "s What the statement is about.",
            "answer": "s yes, with care, no, not known, or note.",
            "claim": "s What the collection can be used for.",
            "figure": "s What `value` is.",
            "rule": "s The rule that gives the answer.",
            "why": "s The reasons.",
        },
        meanings={
            "average": "The value with ties averaged over their orders.",
            "trec": "The value with ties ordered by document id.",
            "file": "The value with ties in the order of lines.",
            "best_run": "The best run on the topic.",
            "same_group": "The mean rise of A_p@k in the other runs of its group.",
            "other_groups": "The mean rise of A_p@k in the runs of other groups.",
            "changed_without": "Groups without whose documents another run is best.",
            "by": "Whether a run or its group was left out.",
            "left_out": "The run or group that was left out.",
            "change": "The value without these documents minus the value with them.",
            "percent": "The change as a percentage of the value with all judgments.",
            "percent_on_ten": "The same on the ten topics with most relevant documents.",
            "rank_without": "The rank without these documents.",
            "without": "The value without these documents.",
            "unique": "Relevant documents that nobody else found.",
            "unique_judged": "Judged documents that nobody else found.",
            "first_unjudged": "The mean rank of the first unjudged document.",
            "first_unjudged_deviation": "The standard deviation of that rank.",
            "in_pool": "Relevant documents that a run has within the depth, mean over runs and topics.",
            "in_pool_deviation": "Their standard deviation.",
            "past": "Relevant documents of the pool that a run has deeper, or not at all.",
            "past_deviation": "Their standard deviation.",
            "group_overlap": "The share of a run's pooled documents that a run of another group pooled too.",
            "high": "The upper end of the interval.",
            "low": "The lower end of the interval.",
            "judge": "The machine that gave the labels.",
            "judged_share": "The share of the part's retrieved documents that was judged.",
            "pool_share": "The part's share of the pool.",
            "relevant_share": "The part's share of the relevant documents, or of title words in them.",
            "relevant_rate": "The share of the part's judged documents that is relevant.",
            "part": "The part of the collection.",
            "last_depth": "The depth at which the fitted law predicts no more relevant documents.",
            "likely_to_come": "Relevant documents that twice the depth would add, by the Poisson fit.",
            "to_come": "Relevant documents that twice the depth would add, by Zobel's law.",
            "remaining": "Relevant documents that remain, by Zobel's law.",
            "second_half": "Relevant documents from below half of the pool depth.",
            "new_relevant": "Relevant documents first found at this depth, per topic; or in a run, below it.",
            "new_documents": "Documents of a run that the pool of the first depth lacks.",
            "new_judged": "Those of them that were judged.",
            "share_relevant": "The share of the new documents that is relevant.",
            "nonrelevant_missed": "Documents judged not relevant that the run did not retrieve.",
            "relevant_missed": "Relevant documents that the run did not retrieve.",
            "performance": "Mean average precision by the judgments.",
            "popularity": "The mean overlap with the other runs' lists.",
            "random": "Mean average precision by random pseudo-judgments.",
            "tied_share": "The share of tied documents in the top 20.",
        },
    ),
    "plan": JsonOutput(
        title="Documents to judge next, and how certain the ranking is",
        always=(
            "headline next truth parameters judgments confidence not_stated sure seconds policies"
            " seed notes rows"
        ),
        sometimes="outlook forecast expected_judgments pool",
        rows=(
            "topic doc chance pool_rank weight completion judgments hours first last run other difference"
            " confidence order conclusion holds"
        ),
        patterns={
            "^expected |^above next$": "n0 Expected value; confidence of ranking above the next run.",
            "^proves if$": "s The grade of the document that proves the order: relevant or nonrelevant.",
        },
        own={
            "outlook": "o What judging these documents would decide.",
            "forecast": "a0 Simulated judging: judgments and confidence.",
            "expected_judgments": "a Least and most judgments to expect with --to; null: no limit.",
        },
        meanings={
            "first": "The mean confidence of the pairs before judging.",
            "last": "The mean confidence of the pairs at the end of the simulation.",
        },
    ),
    "pool": JsonOutput(
        title="The pool: documents, cost and coverage",
        always="headline next notes rows",
        sometimes=(
            "depth contributing chosen policies strategy parameters seed topics remarks p pools groups"
            " overlap runs least_residual"
        ),
        rows=(
            "topic doc order pool_rank weight run group kind pooled judged rank depth documents hours stratum"
            " inclusion_probability grade probability judgments"
        ),
        patterns={
            RANKS: "n0 The share of the run's top documents that the pool contains.",
            "residual": "n0 The residual of RBP.",
            r"^(run|pair) \+-": "n0 Half the width of the expected 95% interval.",
            "^would add$": "i0 Documents that the pool gains if the run is pooled too.",
            "^share of pool$|^mean residual$|^residual wanted$": "n0 Named as in the table for people.",
            f"^({'|'.join(sorted({*STRATEGIES, 'mtc'}))})$": "n0 Relevant documents found by the strategy.",
        },
        own={
            "overlap": "o Documents that two groups share, by the shorter list.",
            "pools": "a Pools of several depths: documents, judged share, mean residual.",
            "groups": "a The documents of each group.",
            "p": "n The persistence of RBP.",
            "least_residual": "n0 The lowest residual that a pool of these runs can reach.",
        },
        meanings={
            "probability": "The probability with which a document of the sample was drawn.",
        },
    ),
    "simulate": JsonOutput(
        title="Replays of judging",
        always="headline next notes rows",
        sometimes=(
            "truth parameters pool sure policies histogram leave-out pairs values topics differences"
            " documents"
        ),
        rows=(
            "strategy seed judgments relevant confidence tau_expected tau_plain tau_bpref accuracy"
            " claimed right proven"
            " bins cost overlap run other order judgment topic doc grade judged bin expected rescaled place"
            " difference distance without tau true_place mean deviation draws p"
        ),
        patterns={"^(true|P\\(|of all|set |±|A²|within)": "n0i Named as in the table for people."},
        own={
            "overlap": "n0 The share of the judged documents that a pool of the same size has too.",
            "values": "a Expected and true values of the runs.",
            "differences": "a Expected and true differences of pairs.",
            "leave-out": "a Rank and confidence of each run that was left out.",
            "histogram": "a The distribution of a difference over draws.",
            "pairs": "a Judgments needed for each pair.",
            "topics": "ia Judged and relevant documents by topic.",
            "documents": "ia The documents in the order of judging.",
        },
        meanings={
            "accuracy": "The share of pairs with different true values that expected values order correctly.",
            "bin": "The bin of the run; a new one begins with a run significantly worse than the bin's best.",
            "bins": "The share of the runs that expected values put into their bin.",
            "claimed": "The share of the pairs with a confidence of at least `sure`.",
            "proven": "The share of the pairs whose order no judgment can reverse (Eq. 3).",
            "right": "The share of these claims that are right.",
            "cost": "The share of the whole pool that is judged.",
            "distance": "The rank distance of the two runs.",
            "judgment": "The number of the judgment, from 1.",
            "place": "The place of the run that was put back.",
            "true_place": "Its place by the truth.",
            "rescaled": "The expected value, rescaled to the range of the true ones.",
            "tau_expected": "Tau of expected values with the truth.",
            "tau_plain": "Tau of plain values, unjudged documents counted as not relevant, with the truth.",
            "tau_bpref": "Tau of bpref with the truth.",
            "without": "The run that was left out.",
        },
    ),
    "label": JsonOutput(
        title="Labels of documents by a language model",
        always=(
            "headline next judge prompt documents labeled repeat problems asked cached stopped spent"
            " consistency notes rows"
        ),
        rows="topic doc label judge model prompt temperature date repeat",
        own={
            "judge": "s The name of the judge.",
            "prompt": "s The prompt: name, version and the beginning of its hash.",
            "documents": "i Documents that were to be labeled.",
            "labeled": "i Documents with a label.",
            "repeat": "i How often each document was labeled; in rows, which time this was.",
            "problems": "o Questions without a label, by kind.",
            "asked": "i Requests that this call sent.",
            "cached": "i Questions that the log had answered before.",
            "stopped": "s0 Why asking ended early.",
            "spent": "o Requests, tokens and money (null without prices) of all calls with this log.",
            "consistency": "o0 How far the labels of repeats agree.",
            "label": "i The label.",
            "model": "s The model, as the endpoint calls it.",
            "temperature": "n0 The temperature; null: left to the provider.",
            "date": "s The day of the answer.",
        },
    ),
    "track": JsonOutput(
        title="Values of runs over the commits of a software",
        always="headline next history commits test correction alpha changes notes rows",
        rows="run measure commit time topics value ci_low ci_high judged",
        tables={
            "changes": (
                "run measure commits first last mean_first mean_last difference ci_low ci_high p p_adjusted"
                " judged_first judged_last judged_p step limit"
            )
        },
        own={
            "history": "s The file of the history.",
            "changes": "a The test of each run and measure: the last commit against the first.",
            "mean_first": "n0 The mean at the first commit.",
            "mean_last": "n0 The mean at the last commit.",
            "judged_first": "n0 The judged share at the first commit.",
            "judged_last": "n0 The judged share at the last commit.",
            "commits": "ai The commits, the oldest first; in changes, how many can be compared.",
            "commit": "s The commit.",
            "time": "s The time of the commit, in UTC.",
            "first": "s The first commit that can be compared.",
            "last": "s The last commit of the run.",
            "ci_low": "n0 The lower end of the confidence interval of the value, or of the difference.",
            "ci_high": "n0 The upper end of the confidence interval of the value, or of the difference.",
            "difference": "n0 The last mean minus the first, over the topics of both.",
            "judged": "n0 The share of documents that is judged to the depth of the measure.",
            "judged_p": "n0 The p-value of the change of the judged share, corrected like the others.",
            "step": "o0 The largest step of a significant change: commit, difference and corrected p.",
            "limit": "s0 Why no change could be significant, whatever the values.",
        },
    ),
    "estimate": JsonOutput(
        title="Values estimated from sampled judgments and labels by machines",
        always=(
            "headline next judged judged_topics documents labeled machine_share judges topics confidence"
            " worth unlabeled_unjudged correction alpha seed notes rows"
        ),
        rows=(
            "measure run estimate low high topics_low topics_high people people_error error machine outside"
            " machine_share run_a run_b difference p p_adjusted"
        ),
        own={
            "judged_topics": "i0 The topics that people judged whole; null: documents were sampled.",
            "labeled": "i The documents with a label.",
            "machine_share": "n The share of the documents that only machines have seen.",
            "judges": "a The machines.",
            "confidence": "n The confidence of the intervals.",
            "worth": "o The judgments that the labels were worth, by measure.",
            "unlabeled_unjudged": "s How documents count that nobody judged or labeled.",
            "estimate": "n The estimated mean.",
            "low": "n The lower limit on these topics.",
            "high": "n The upper limit on these topics.",
            "topics_low": "n0 The lower limit for topics like these.",
            "topics_high": "n0 The upper limit for topics like these.",
            "people": "n The estimate without labels.",
            "people_error": "n Its standard error.",
            "machine": "n0 The value, or difference, by the labels at face value.",
            "outside": "n The share of the first ten that nobody judged or labeled.",
        },
    ),
    "calibrate": JsonOutput(
        title="How often confidence statements are right",
        always=("headline next runs topics judgments until test alpha repeats draws seed notes rows"),
        rows=(
            "scenario budget claim pairs share_claimed share_right auc ece brier measure part right"
            " reliability resolution uncertainty share_claimed_low share_claimed_high share_right_low"
            " share_right_high auc_low auc_high ece_low ece_high brier_low brier_high"
        ),
        own={
            "until": "s What full judging means.",
            "repeats": "o Repeats of each scenario.",
            "scenario": "s How judgments were hidden.",
            "budget": "n0 The share of the judgments that was left.",
            "claim": "s The statement that is checked.",
            "auc": "n0 How well the statements separate right from wrong.",
            "ece": "n0 The expected calibration error.",
            "brier": "n0 The Brier score.",
        },
        meanings={
            "part": "all pairs, pooled (both runs contributed to what is left), or unpooled (one did not).",
            "reliability": "The part of the Brier score that comes from wrong chances (Murphy 1973).",
            "resolution": "The part of the Brier score by which chances distinguish pairs.",
            "uncertainty": "The part of the Brier score that no statement can avoid.",
            "right": "The share of all pairs for which the statement came true.",
            "share_claimed": "The share of pairs with a chance of .95 or more, or with the label.",
            "share_right": "The share of these that came true.",
        },
    ),
    "agree": JsonOutput(
        title="Agreement of assessors",
        always="headline next assessors choices pairs rows",
        sometimes=(
            "scale policies repeats logs filled by_topic grades confusions rejected bias topics effects"
            " notes taus systems swaps top contradictions ranks"
        ),
        rows=" ".join(AGREE_TABLES.values()),
        patterns={"^(relevant|by) ": "in0 One assessor's figure."},
        tables=AGREE_TABLES,
        own={
            "assessors": "as The assessors.",
            "scale": "a The grades.",
            "choices": "o How assessors were compared.",
            "repeats": "a Documents that one assessor judged more than once.",
            "logs": "a What judgment logs contain.",
            "filled": "o Judgments that were filled in.",
            "by_topic": "o Agreement by topic.",
            "effects": "a How the choice of assessors changes the ranking, by measure.",
            "alpha": "n0 Krippendorff's alpha of relevance.",
            "overlap": "n0 Documents relevant to all members by those relevant to any; mean over topics.",
            "agreement": "n0ao The share of documents on whose relevance two members agree.",
            "bias": "an Grades that one assessor gives more often than the others.",
            "rejected": "ai Relevant documents that the others rejected.",
        },
        meanings={
            "kappa": "Kappa of relevance: Cohen's for a pair, Fleiss' for more.",
            "kappa_grades": "The same of grades.",
            "kappa_weighted": "Cohen's kappa of grades, weighted by squared differences.",
            "alpha_grades": "Krippendorff's alpha of grades.",
            "alpha_ordinal": "Krippendorff's alpha of ordered grades.",
            "assessor": "The assessor.",
            "best": "The best run by this assessor.",
            "best_by_others": "The best run by the others.",
            "by_others": "How often the others give the grade on the same documents.",
            "given": "How often the assessor gives the grade.",
            "confusions": "Documents to which two assessors gave these grades.",
            "contested": "Documents relevant to one assessor and not to another.",
            "favor": "What that run gains.",
            "favored": "The run that gains most by this assessor, beyond the shift.",
            "grades": "Agreement on each grade.",
            "intersection": "The value by the intersection of the assessors' relevant documents.",
            "intersection_inside": "Whether that lies between least and most.",
            "union": "The value by the union of the assessors' relevant documents.",
            "union_inside": "Whether that lies between least and most.",
            "judged_by_all": "Documents that all assessors judged.",
            "least": "The least over qrels.",
            "most": "The most over qrels.",
            "mean_over_topics": "The share, averaged over topics.",
            "moved": "The run that moves most places.",
            "places": "How many places it moves.",
            "original": "The value by the original judgments.",
            "other_grade": "The grade by the other assessor.",
            "rankings": "The number of rankings compared.",
            "shift": "How much higher the best runs' values are than by the other assessors.",
            "swapped": "The share of the qrels that reverse the pair.",
            "swaps": "How often qrels reverse each pair of runs.",
            "swaps_least": "The fewest swaps of neighbors that a tau stands for.",
            "swaps_mean": "The mean number of swaps of neighbors that a tau stands for.",
            "swaps_most": "The most swaps of neighbors that a tau stands for.",
            "system": "The run.",
            "systems": "Values of each run over qrels.",
            "taus": "Comparisons of rankings.",
            "top": "How the best runs change with the assessor.",
            "circle": "The shortest circle of documents, each at least as good as the next; empty: none.",
            "comparisons": "How often the document was compared, by all assessors.",
            "contradicted": "Triples of these in which the assessor contradicts themselves.",
            "contradictions": "Preferences: contradictions of each assessor in each topic.",
            "in_circles": "Documents in circles of any length.",
            "pairs": "Pairs of documents that were compared; above: of each two assessors.",
            "preferred": "The share with the same document, where both preferred one.",
            "rank_best": "One more than the documents that are better for sure.",
            "rank_worst": "The place if all that are not surely worse were better.",
            "ranks": "Preferences: Bradley-Terry ranks of documents.",
            "same": "The share of common pairs with the same outcome.",
            "strength": "Log odds against a document of mean strength; null: not identified.",
            "triples": "Triples of documents in which every pair was compared.",
            "wins": "Comparisons won; ties count half.",
        },
    ),
    "depth": JsonOutput(
        title="Whether the outcome depends on depth",
        always=(
            "headline next policies test runs topics pool stable_from agreement findings unpooled notes rows"
        ),
        sometimes="each_run volatility pools subsets",
        rows=(
            f"collection {RANKINGS} {EACH_RUN} {VOLATILITY} {POOLS} {SUBSETS} reference lowest highest"
            " discrimination median_p coverage inversion tau residual_unjudged residual_tail assessment plain"
            " condensed run_a run_b mean_a mean_b half_width p assessment_a assessment_b"
            " assessment_half_width assessment_p case rank weight"
        ),
        tables={
            "each_run": EACH_RUN,
            "volatility": VOLATILITY,
            "pools": POOLS,
            "subsets": SUBSETS,
            "findings": "guideline heed text",
        },
        own={
            "stable_from": "o The depth from which the ranking is stable, by measure; null: none.",
            "unpooled": "a Runs that were not pooled, with their first unjudged rank.",
            "each_run": "a Values of each run by depth.",
            "volatility": "a Agreement of the rankings at any two depths.",
            "pools": "a Rankings by shallower pools.",
            "subsets": "a Rankings by random parts of the judgments.",
        },
        meanings={
            "assessment": "The judged share of the top k, mean over runs.",
            "assessment_a": "The judged share of the first run.",
            "assessment_b": "The judged share of the second run.",
            "assessment_half_width": "Half the width of the error bars of the judged shares.",
            "half_width": "Half the width of the error bars: two that are disjoint differ significantly.",
            "claims_lost": "Pairs significant with the shallower pool only, in the same order.",
            "claims_missed": "Pairs significant with the whole pool only.",
            "claims_reversed": "Pairs significant with the shallower pool, reversed by the whole pool.",
            "significant": "Pairs that differ significantly.",
            "reversed": "Pairs in the opposite order.",
            "condensed": "The value without unjudged documents.",
            "plain": "The value with unjudged documents as not relevant.",
            "coverage": "The share of the reference's differences found here too (Lu et al., Eq. 5).",
            "discrimination": "The share of tested pairs that differ significantly.",
            "inversion": "The share of the reference's differences whose order is reversed here (Eq. 6).",
            "draw": "The number of the draw.",
            "median_p": "The median p-value of the pairs, uncorrected.",
            "most_places": "The largest number of places that a run moves.",
            "moved_run": "The run that moves most.",
            "reference": "The depth, or the measure at a depth, that rankings are compared with.",
        },
    ),
    "report": JsonOutput(
        title="A report",
        always="sounding command runs topics measures policies seed summary good_for sections",
        own={
            "sounding": "s The version of sounding.",
            "command": "s The command that made the report.",
            "measures": "a The measures; the first one ranks the runs.",
            "summary": (
                "a The first screen, by measure: answer, reason, caution, missing, next_step, leaderboard."
            ),
            "good_for": "a What the collection can be used for: claim and answer.",
            "sections": "o Each section: title, missing, sentences, and the rows of its tables.",
        },
    ),
    "check": JsonOutput(
        title="Problems in files",
        always="headline next notes rows",
        rows="file kind severity line count text",
        own={
            "file": "s The file.",
            "severity": "s error, problem or remark.",
            "line": "i0 The first line with the problem.",
        },
    ),
    "measures": JsonOutput(
        title="Measures",
        always="rows",
        sometimes="headline next notes",
        rows="measure parameters basis claims trec_eval",
        patterns={"^what it gives$": "s The definition.", "^k for ": "i0 The depth with this residual."},
        own={"parameters": "s The parameters with their defaults.", "trec_eval": "s trec_eval's names."},
    ),
    "judge-user": JsonOutput(
        title="Users of a judging project",
        always="rows",
        rows="user role topics judged link",
        patterns={"^in the log$|^sign-in$": "s Named as in the table for people."},
        own={"user": "s The name.", "role": "s assessor or organizer.", "link": "s The sign-in link."},
    ),
    "judge-status": JsonOutput(
        title="Progress of a judging project",
        always="",
        sometimes="topics runs sequence rows",
        rows="topic title status order assessors judged relevant left run expected",
        patterns={".": "snibao0 Named as in the table for people."},
        meanings={
            "assessors": "Its assessors, or their number.",
            "left": "Unjudged documents that its order still selects.",
            "sequence": "The number of the last event.",
            "status": "candidate, chosen or dropped.",
            "title": "The title of the topic.",
        },
    ),
    "judge-topics": JsonOutput(
        title="Topics of a judging project",
        always="rows",
        rows="topic title status order assessors judged left",
        patterns={".": "snibao0 Named as in the table for people."},
        meanings={
            "assessors": "Its assessors, or their number.",
            "left": "Unjudged documents that its order still selects.",
            "status": "candidate, chosen or dropped.",
            "title": "The title of the topic.",
        },
    ),
    "judge-settings": JsonOutput(
        title="Settings of a judging project",
        always="rows",
        rows="setting value",
        own={"setting": "s The setting."},
    ),
    "judge-order": JsonOutput(
        title="The order in which documents are judged",
        always="rows",
        rows="topic order parameters batch",
        patterns={"^warm-up$": "i The number of top-ranked documents that come first."},
        meanings={
            "batch": "Documents that are shuffled together.",
        },
    ),
    "judge-differences": JsonOutput(
        title="Documents on which assessors differ",
        always="differing open rows",
        patterns={".": "snibao0 Named as in the table for people."},
        own={"differing": "i Documents on which assessors differ.", "open": "i Those that are not settled."},
    ),
    "judge-audit": JsonOutput(
        title="Samples that experts grade again",
        always="rows",
        patterns={".": "snibao0 Named as in the table for people."},
    ),
}


def schema_of(command: str) -> dict[str, Any]:
    """Return the JSON schema of a command's output."""
    document = DOCUMENTS[command]
    facts = [*document.always.split(), *document.sometimes.split()]
    described = {name: _described(name, document) for name in facts}
    described |= {name: {"type": "array"} for name in document.tables if name not in document.own}
    listed = {"rows": document.rows, **document.tables}
    for name, columns in listed.items():
        if name in described and (columns or document.patterns):
            items = {
                "type": "object",
                "properties": {one: _described(one, document) for one in columns.split()},
            }
            if document.patterns:
                items["patternProperties"] = {
                    pattern: _typed(words) for pattern, words in document.patterns.items()
                }
            described[name]["items"] = items | {"additionalProperties": False}
    name = f"sounding/{command}/{SCHEMA_VERSION}"
    return {
        "$schema": DIALECT,
        "$id": name,
        "title": document.title,
        "type": "object",
        "properties": {"schema": {"const": name, "description": FIELDS["schema"][2:]}} | described,
        "required": ["schema", *document.always.split()],
        "additionalProperties": False,
    }


def _described(name: str, document: JsonOutput) -> dict[str, Any]:
    """Return type and meaning of a field; the limits of an interval are described by what they limit."""
    words = document.own.get(name) or FIELDS.get(name)
    if words is None and name in document.meanings:
        words = f"nisb0 {document.meanings[name]}"
    base, _, end = name.rpartition("_")
    if words is None and end in ENDS:
        meaning = _described(base, document)["description"].rstrip(".")
        words = f"n0 {meaning}: the {ENDS[end]} end of its interval."
    if words is None:
        raise LookupError(f"{document.title}: {name} has no meaning")
    return _typed(words)


def _typed(words: str) -> dict[str, Any]:
    letters, _, meaning = words.partition(" ")
    types = [TYPES[letter] for letter in letters]
    types = [kind for kind in types if not (kind == "integer" and "number" in types)]
    return {"type": types[0] if len(types) == 1 else types, "description": meaning}


def main(arguments: Sequence[str]) -> None:
    """Write the schema of each command to a folder."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for command in DOCUMENTS:
        text = json.dumps(schema_of(command), indent=1, ensure_ascii=False) + "\n"
        (folder / f"{command}.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
