"""Writes two series that R does not have, and prints what statsmodels finds in them.

Made with statsmodels 0.15.0; run in this folder: python reference.py
`sunspots` is 1700-2008; `dow_jones` is the series of Brockwell and Davis, differenced once.
The numbers printed stand in crates/predict/tests/it/reference.rs.
"""

from pathlib import Path

import numpy as np
from statsmodels.datasets import sunspots
from statsmodels.regression.linear_model import burg, yule_walker
from statsmodels.tsa.arima.datasets.brockwell_davis_2002 import dowj


def write(name: str, values: np.ndarray) -> None:
    lines = [name, *(repr(float(value)) for value in values)]
    Path(f"{name}.csv").write_text("\n".join(lines) + "\n")


spots = sunspots.load().data["SUNACTIVITY"].to_numpy()
dow = np.diff(dowj.to_numpy()).round(2)
write("sunspots", spots)
write("dow_jones", dow)
for name, values, order in [("sunspots", spots, 4), ("dow_jones", dow, 1)]:
    rho, sigma = yule_walker(values, order, method="mle")
    print(name, order, "yw", rho.tolist(), sigma**2)
    rho, variance = burg(values, order)
    print(name, order, "burg", rho.tolist(), variance)
numbers = np.arange(1.0, 12.0)
print("1..11, mean not taken out: burg", burg(numbers, 2, demean=False))
print("1..11, mean not taken out: yw", yule_walker(numbers, 2, method="mle", demean=False))
