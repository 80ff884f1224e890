"""Write the table of accuracy in docs/figures.md from the pages of the study of host load, or check that it is theirs.

Usage: python3 scripts/host_load_study_table.py [--check]
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs/studies/host-load"
FIGURES = ROOT / "docs/figures.md"
BEGIN, END = "<!-- The table is made by `make host-load-study`. -->\n", "<!-- It ends here. -->\n"

# Page, and what its columns are called.
CAMPAIGNS = {"availability": "CPU availability", "load-average": "load average", "given": "given traces"}
LEADS = ["1", "10", "30"]

Rows = list[list[str]]


def main() -> None:
    """Replace the table, or end with an error when it is another one."""
    text = FIGURES.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END, maxsplit=1)
    made = before + BEGIN + table() + END + after
    if sys.argv[1:] != ["--check"]:
        FIGURES.write_text(made)
    elif made != text:
        raise SystemExit(
            "the table in docs/figures.md is not that of docs/studies/host-load/: run `python3 scripts/host_load_study_table.py`"
        )


def table() -> str:
    """Return the table with its lines of recommendation, as Markdown."""
    errors = {name: of_leads(section(name, "Errors over LAST")) for name in CAMPAIGNS}
    held = {name: section(name, "Calibration") for name in CAMPAIGNS}
    models = sorted(errors["availability"], key=lambda model: n_better(errors, model))
    head = ["steps ahead", *(f"{title}, {lead}" for title in CAMPAIGNS.values() for lead in LEADS), "inside 95 %"]
    lines = [head, ["---"] * len(head)]
    for model in models:
        cells = [cell(errors[name], model, idx) for name in CAMPAIGNS for idx in range(len(LEADS))]
        lines.append([f"`{model}`", *cells, coverage(held, model)])
    lines[0][0] = "model"
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def section(page: str, title: str) -> tuple[list[str], Rows]:
    """Return the head and the rows of the table below a heading."""
    text = (PAGES / f"{page}.md").read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("|")
    ]
    return lines[0], lines[2:]


def of_leads(found: tuple[list[str], Rows]) -> dict[str, list[str]]:
    """Return by model the cells of the leads that are shown."""
    head, rows = found
    places = [head.index(f"lead {lead}") for lead in LEADS]
    return {row[0].strip("`"): [row[place] for place in places] for row in rows}


def cell(errors: dict[str, list[str]], model: str, idx: int) -> str:
    """Return an error, in bold where none is less."""
    least = min(number(cells[idx]) for cells in errors.values())
    return f"**{errors[model][idx]}**" if number(errors[model][idx]) == least else errors[model][idx]


def number(cell: str) -> float:
    """Read an error; a model that mostly fails has none that is finite."""
    return float(cell.replace("∞", "inf"))


def n_better(errors: dict[str, dict[str, list[str]]], model: str) -> int:
    """Return how many models have less of an error, summed over all columns."""
    columns = [(by_model, idx) for by_model in errors.values() for idx in range(len(LEADS))]
    return sum(
        number(cells[idx]) < number(by_model[model][idx]) for by_model, idx in columns for cells in by_model.values()
    )


def coverage(held: dict[str, tuple[list[str], Rows]], model: str) -> str:
    """Return the least and the greatest share of samples inside 95 % intervals, over campaigns and leads."""
    shares = [
        int(cell.split(" / ")[2])
        for _, rows in held.values()
        for row in rows
        if row[0].strip("`") == model
        for cell in row[1:]
    ]
    return f"{min(shares)}–{max(shares)} %"


if __name__ == "__main__":
    main()
