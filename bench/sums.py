"""What reconciling forecasts that add up makes of them, on the time of two cores as a node recorded it.

`bench-sums` does the work; this runs it and makes the table. Usage: bench/sums.py
"""

import argparse
import math

from report import ROOT, machine, print_machine, print_table, save
from timing import rust_program

TRACE = ROOT / "testdata/host-sensors/cpu-time.csv"


def main() -> None:
    """Measure, print, save."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    found = rust_program("bench-sums", str(TRACE))
    if "refused" in found:
        raise SystemExit(found["refused"])
    leads = ", ".join(str(lead) for lead in found["leads"])
    rows = []
    for signal in found["signals"]:
        # What is always the same has no errors to compare.
        if min(signal["root_mean_square_error"]) == 0:
            continue
        ratios = signal["squared_error_ratio"]
        rows.append(
            [
                signal["id"],
                " ".join(f"{error:.4f}" for error in signal["root_mean_square_error"]),
                " ".join(f"{ratio:.2f}" for ratio in ratios),
                f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}",
                f"{max(signal['interval_score_ratio']):.3f}",
                " ".join(f"{share:.0%}" for share in signal["within"]),
            ]
        )
    alone, together = found["largest_difference"]
    head = [
        "signal",
        f"root mean square error alone, {leads} steps",
        "squared error reconciled over alone",
        "mean",
        "95 % interval score over alone, worst lead",
        "within 95 %",
    ]
    print_table(
        f"AUTO on the time of two cores, alone and reconciled: {found['n_forecasts']:.0f} forecasts", head, rows
    )
    cost = f"{1000 * found['microseconds_a_signal'] / 60:.0f} ns"
    head = ["largest difference of a sum 30 steps ahead, alone", "reconciled", "cost a signal and step"]
    print_table("What sums lack", head, [[f"{alone:.3f}", f"{together:.1e}", cost]])
    print_machine(machine())
    save("sums", found)


if __name__ == "__main__":
    main()
