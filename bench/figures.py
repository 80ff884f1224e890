"""Write what the benches found into docs/figures.md, each bench between marks of its own, or check that it stands there.

A section is made from `docs/figures/NAME.json`; without that file it is left as it is. With `--take`, whatever benches left in
`target/bench` replaces those files before. Usage: bench/figures.py [--take|--check]
"""

import argparse
import json
import re
import shutil

from report import ROOT, TARGET, machine_line, markdown

DOCUMENT = ROOT / "docs/figures.md"
KEPT = ROOT / "docs/figures"
SECTION = re.compile(
    r"(?<=<!-- By `make bench`: )(?P<name>\w+)\. -->\n(?P<body>.*?)(?=<!-- It ends here\. -->\n)", re.DOTALL
)


def main() -> None:
    """Replace the sections, or end with an error when they are others."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--take", action="store_true", help="take over what is in target/bench")
    arguments.add_argument(
        "--check", action="store_true", help="change nothing, fail when there is something to change"
    )
    given = arguments.parse_args()
    text = DOCUMENT.read_text()
    names = [found["name"] for found in SECTION.finditer(text)]
    if given.take:
        KEPT.mkdir(exist_ok=True)
        for file in sorted((TARGET / "bench").glob("*.json")):
            if file.stem not in names:
                raise SystemExit(
                    f"{DOCUMENT.name} has no section for {file.stem}: add the two marks where it should stand"
                )
            shutil.copyfile(file, KEPT / file.name)
    made = SECTION.sub(lambda found: f"{found['name']}. -->\n{section(found['name'], found['body'])}", text)
    if not given.check:
        DOCUMENT.write_text(made)
    elif made != text:
        raise SystemExit("docs/figures.md does not say what docs/figures/ does: run `python3 bench/figures.py`")


def section(name: str, body: str) -> str:
    """Return what has to stand between the marks: all tables of a bench and where they were made, or what is there."""
    file = KEPT / f"{name}.json"
    if not file.exists():
        return body
    saved = json.loads(file.read_text())
    tables = "\n".join(f"**{table['title']}**\n\n{markdown(table)}" for table in saved["tables"])
    return f"\n{tables}\n{machine_line(saved['machine'] | saved.get('versions', {}))}\n\n"


if __name__ == "__main__":
    main()
