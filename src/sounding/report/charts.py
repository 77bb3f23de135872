"""One function for each chart, from a frame to an Altair chart; `save` writes it.

Each function's docstring names the columns of its frame. Altair is loaded when the first chart is made.
"""

from sounding.agree.charts import (
    agreement_of_assessors,
    agreement_over_qrels,
    overlap_by_topic,
    swaps_over_qrels,
    values_over_qrels,
)
from sounding.audit.charts import (
    group_overlap,
    growth_by_depth,
    judged_share_by_depth,
    judged_shares,
    leave_out_changes,
    performance_against_assessment,
    performance_against_rankings,
    pool_outcomes_by_depth,
    pool_size_by_depth,
    reinforcement,
    relevant_by_judgments,
    shares_by_part,
    ties_and_values,
    title_words_by_pool_rank,
    unique_relevant,
)
from sounding.calibrate.charts import reliability_diagram
from sounding.compare.charts import difference_intervals, topic_differences
from sounding.depth.charts import (
    agreement_by_pool_depth,
    agreement_by_share_kept,
    means_with_intervals,
    pair_over_depth,
    rank_weights,
    residuals_over_k,
    stability_over_k,
    values_over_k,
    volatility,
)
from sounding.evaluate.charts import values_with_bounds
from sounding.render.save import require_suffix, save, together
from sounding.simulate.charts import (
    agreement_by_judgments,
    confidence_by_judgments,
    confidence_forecast,
    difference_histogram,
    expected_values,
    judgments_by_difference,
)

__all__ = [
    "agreement_by_judgments",
    "agreement_by_pool_depth",
    "agreement_by_share_kept",
    "agreement_of_assessors",
    "agreement_over_qrels",
    "confidence_by_judgments",
    "confidence_forecast",
    "difference_histogram",
    "difference_intervals",
    "expected_values",
    "group_overlap",
    "growth_by_depth",
    "judged_share_by_depth",
    "judged_shares",
    "judgments_by_difference",
    "leave_out_changes",
    "means_with_intervals",
    "overlap_by_topic",
    "pair_over_depth",
    "performance_against_assessment",
    "performance_against_rankings",
    "pool_outcomes_by_depth",
    "pool_size_by_depth",
    "rank_weights",
    "reinforcement",
    "relevant_by_judgments",
    "reliability_diagram",
    "require_suffix",
    "residuals_over_k",
    "save",
    "shares_by_part",
    "stability_over_k",
    "swaps_over_qrels",
    "ties_and_values",
    "title_words_by_pool_rank",
    "together",
    "topic_differences",
    "unique_relevant",
    "values_over_k",
    "values_over_qrels",
    "values_with_bounds",
    "volatility",
]
