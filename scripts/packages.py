"""Say under which licences the packages are that this workspace is built from, and which of them come in several versions.

Fails on a licence that is not in `ALLOWED`, and on a package in several versions that is not in `SEVERAL_VERSIONS`. Asks no network:
whatever was compiled is there.
"""

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# Licences under which a program can be passed on with no more than a notice; that of MPL-2.0 says where the package's own sources are.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}

# Packages that are compiled once for each version, and why none of the versions can go.
SEVERAL_VERSIONS = {
    "base64": "async-nats is a version behind ureq",
    "block-buffer": "with digest",
    "const-oid": "with digest",
    "cpufeatures": "with sha2",
    "crypto-common": "with digest",
    "digest": "with sha2",
    "embedded-io": "postcard names two versions itself",
    "getrandom": "ring and ahash are versions behind rand",
    "itertools": "prost, criterion and prometheus-parse each have their own; only prost's is in the program",
    "miniz_oxide": "png is a version behind flate2",
    "nom": "bindgen, of the MPI programs, is a version behind lettre",
    "num-bigint": "der-parser, of tests, is a version behind parquet",
    "rand": "nkeys, with which async-nats reads credentials, is versions behind",
    "rand_chacha": "with rand",
    "rand_core": "with rand",
    "sha2": "nkeys signs with ed25519-dalek, which is a version behind",
    "shlex": "bindgen, of the MPI programs, is a version behind cc",
    "signal-hook": "crossterm is a version behind",
    "syn": "half of the derive macros are a version behind",
}


def main() -> int:
    """Print both tables, complain, and give the exit status."""
    metadata = _metadata()
    packages = {package["id"]: package for package in metadata["packages"]}
    used = {node["id"]: node["dependencies"] for node in metadata["resolve"]["nodes"]}
    foreign = [packages[i] for i in used if packages[i]["source"] is not None]
    complaints = _licences(foreign) + _versions(foreign, _users(packages, used))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def _metadata() -> dict[str, Any]:
    host = subprocess.run(["rustc", "--print", "host-tuple"], capture_output=True, text=True, check=True).stdout.strip()
    command = ["cargo", "metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", host]
    return json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)


def _users(packages: dict[str, Any], used: dict[str, list[str]]) -> dict[str, set[str]]:
    users = defaultdict(set)
    for user, dependencies in used.items():
        for dependency in dependencies:
            users[dependency].add(packages[user]["name"])
    return users


def _licences(foreign: list[dict[str, Any]]) -> list[str]:
    """Print how many packages there are under each licence, and give those that are under none of the allowed."""
    counts = Counter(_normal(package["license"]) for package in foreign)
    print(f"{len(foreign)} packages come from elsewhere, under these licences:")
    for licence, count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])):
        print(f"{count:5}  {licence}")
    return [
        f"{package['name']} {package['version']} is under {_normal(package['license'])}: do without it, or, if it may be passed on "
        "with no more than a notice, add its licence to ALLOWED in scripts/packages.py"
        for package in foreign
        if not is_allowed(_normal(package["license"]))
    ]


def _versions(foreign: list[dict[str, Any]], users: dict[str, set[str]]) -> list[str]:
    """Print which packages come in several versions and for whom, and give those that are not known to."""
    by_name = defaultdict(list)
    for package in foreign:
        by_name[package["name"]].append(package)
    several = {name: versions for name, versions in sorted(by_name.items()) if len(versions) > 1}
    print(f"\n{len(several)} of them come in several versions:")
    for name, versions in several.items():
        of_whom = [f"{version['version']} ({_some(users[version['id']])})" for version in versions]
        print(f"  {name:13}  {', '.join(of_whom)}: {SEVERAL_VERSIONS.get(name, 'unknown')}")
    unknown = [
        f"{name} comes in several versions: see whether one will do, and if not, say why in SEVERAL_VERSIONS in scripts/packages.py"
        for name in several
        if name not in SEVERAL_VERSIONS
    ]
    stale = [
        f"{name} comes in one version: take it out of SEVERAL_VERSIONS in scripts/packages.py"
        for name in SEVERAL_VERSIONS
        if name not in several
    ]
    return unknown + stale


def _some(names: set[str]) -> str:
    first = sorted(names)[:3]
    return ", ".join(first) + (f" and {len(names) - len(first)} more" if len(names) > len(first) else "")


def _normal(licence: str | None) -> str:
    """Write an expression of SPDX in one way; older packages have a slash for OR."""
    return re.sub(r"\s*/\s*", " OR ", licence or "no stated licence")


def is_allowed(expression: str) -> bool:
    """Whether an expression of SPDX can be met with allowed licences alone: one side of each OR, both of each AND."""
    tokens = re.findall(r"[()]|[^\s()]+", expression)
    value = _either(tokens)
    return value and not tokens


def _either(tokens: list[str]) -> bool:
    value = _both(tokens)
    while tokens and tokens[0] == "OR":
        tokens.pop(0)
        value = _both(tokens) or value
    return value


def _both(tokens: list[str]) -> bool:
    value = _single(tokens)
    while tokens and tokens[0] == "AND":
        tokens.pop(0)
        value = _single(tokens) and value
    return value


def _single(tokens: list[str]) -> bool:
    if not tokens:
        return False
    if tokens[0] == "(":
        tokens.pop(0)
        value = _either(tokens)
        return bool(tokens) and tokens.pop(0) == ")" and value
    licence = tokens.pop(0)
    if tokens[:1] == ["WITH"]:
        licence += " WITH " + " ".join(tokens[1:2])
        del tokens[:2]
    return licence in ALLOWED


if __name__ == "__main__":
    sys.exit(main())
