"""How well models forecast recorded CPU traces: a column for each model, as in the tables of RPS's prediction studies.

`bench-accuracy` (in `src/`) fits and judges; a text that the library does not read as a model has an empty column.
"""

import argparse
import json
import subprocess
from collections.abc import Callable
from typing import Any

from report import TARGET, machine, print_machine, print_table, save

MODELS = ["LAST", "BM(32)", "NWS", "AR(16)", "REFIT(AR(16),every=100,window=600)", "AUTO"]


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", nargs="*", default=MODELS, help="texts of models")
    models = arguments.parse_args().model
    command = [str(TARGET / "release/bench-accuracy"), *models]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    judged = figures["models"]
    title = f"Forecasts of {figures['n_cases']} random stretches of {len(figures['traces'])} CPU traces, percent of CPU"
    print_table(title, ["", *(model["model"] for model in judged)], rows(judged))
    for model in judged:
        if "refused" in model:
            print(f"\n{model['model']}: {model['refused']}")
    print_machine(machine() | {"traces": " ".join(figures["traces"]), "seed": str(figures["seed"])})
    save("accuracy", figures)


def rows(judged: list[dict[str, Any]]) -> list[list[str]]:
    """Write the figures as lines of a table, steps ahead within each kind of figure."""
    leads = next(len(model["leads"]) for model in judged if "leads" in model)

    def row(name: str, figure: Callable[[dict[str, Any]], str]) -> list[str]:
        return [name, *("" if "refused" in model else figure(model) for model in judged)]

    def of_leads(name: str, key: str, form: str) -> list[list[str]]:
        def at(idx: int) -> Callable[[dict[str, Any]], str]:
            return lambda model: format(model["leads"][idx][key], form)

        steps = [next(model["leads"][idx]["lead"] for model in judged if "leads" in model) for idx in range(leads)]
        return [row(f"{name}, {step} ahead", at(idx)) for idx, step in enumerate(steps)]

    return [
        *of_leads("squared error / variance, median", "mse_over_variance_median", ".3f"),
        *of_leads("absolute error, mean", "mean_absolute_error", ".2f"),
        *of_leads("inside the 95 % interval", "coverage_ratio", ".1%"),
        row("the same, least of 1 to 30 ahead", lambda model: f"{model['coverage_ratio_min']:.1%}"),
        row("the same, greatest", lambda model: f"{model['coverage_ratio_max']:.1%}"),
        row("fits that failed", lambda model: str(model["n_failed"])),
    ]


if __name__ == "__main__":
    main()
