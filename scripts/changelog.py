"""Put the files in `changes/` together as the next section of CHANGELOG.md.

Each file is one change: `Added: `, `Changed: ` or `Fixed: `, then what a user notices, in one paragraph.
Without arguments, print the section. `--check` only checks the files. `--release VERSION DATE` moves them into CHANGELOG.md.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("Added", "Changed", "Fixed")


def main(arguments: list[str]) -> int:
    """Do what the arguments say, and give the exit status."""
    files = sorted((ROOT / "changes").glob("*"))
    complaints = [complaint for file in files for complaint in complaints_about(file)]
    if complaints:
        print("\n".join(complaints), file=sys.stderr)
        return 1
    match arguments:
        case []:
            print(section(files, "## [Unreleased]"))
        case ["--check"]:
            print(f"{len(files)} changes since the last version")
        case ["--release", version, date]:
            release(files, f"## [{version}] - {date}")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def complaints_about(file: Path) -> list[str]:
    """Sentences about what is wrong with a file, with its name."""
    name, text = f"changes/{file.name}", file.read_text()
    found = []
    if not re.fullmatch(r"[a-z0-9-]+\.md", file.name):
        found.append("has a name that is not of small letters, digits and hyphens with .md")
    if not text.startswith(tuple(f"{kind}: " for kind in KINDS)):
        found.append(f"begins with none of {', '.join(KINDS)} and a colon")
    if "\n\n" in text.strip() or not text.endswith(".\n"):
        found.append("is not one paragraph that ends with a full stop and a line break")
    found += [
        f"links to {path}, which is not there"
        for path in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
        if not (ROOT / path).exists()
    ]
    return [f"{name} {complaint}" for complaint in found]


def section(files: list[Path], title: str) -> str:
    """Put the changes under this title, by kind."""
    parts = [title]
    for kind in KINDS:
        texts = [file.read_text().strip() for file in files]
        items = [text.removeprefix(f"{kind}: ") for text in texts if text.startswith(f"{kind}: ")]
        if items:
            parts += [f"### {kind}", "\n".join("- " + item.replace("\n", "\n  ") for item in items)]
    return "\n\n".join(parts) + "\n"


def release(files: list[Path], title: str) -> None:
    """Move the changes into CHANGELOG.md, above the last version."""
    changelog = ROOT / "CHANGELOG.md"
    before, mark, after = changelog.read_text().partition("\n## [")
    changelog.write_text(f"{before}\n{section(files, title)}{mark}{after}")
    for file in files:
        file.unlink()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
