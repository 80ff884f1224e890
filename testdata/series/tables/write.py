"""Writes the series of r_row_names.csv in the ways in which pandas writes a missing value into a table.

Made with pandas 3.1.1; run in this folder after write.R: python write.py
"""

import pandas as pd

ratings = pd.read_csv("r_row_names.csv", index_col=0).reset_index(drop=True)
ratings.to_csv("pandas_index.csv")
ratings.to_csv("pandas_empty.csv", index=False)
ratings.to_csv("pandas_nan.csv", index=False, na_rep="NaN")
days = pd.date_range("2026-01-01", periods=len(ratings), freq="D")
ratings.set_index(days).to_csv("pandas_dates.csv")
