"""Work on rows as code: running sums, extremes, elements at places; for dtypes, not for sizes."""
