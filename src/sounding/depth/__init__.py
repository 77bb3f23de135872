"""Whether the outcome depends on how deep one looks: values over k, volatility, shallower pools, subsets."""
