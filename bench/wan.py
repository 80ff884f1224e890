"""Emulated links beside what they should be: how late waits end in four ways, messages of many senders, rates and round trips.

mahimahi's and Longcut's ways to wait, and `ppoll` alone, are in the same run. Emulated hosts need root, and are left out without it.
"""

import argparse
import json
import subprocess
from pathlib import Path

from report import machine, print_machine, print_table, save

PARTS = (["--waits", "400"], ["--connections", "2,10,40"], ["--rates", "100Mbit/s,300Mbit/s,1Gbit/s"])


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="the foretop to measure")
    given = arguments.parse_args()
    for asked in PARTS:
        command = [given.binary, "wan", "self-test", "--json", *asked]
        for table in json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout):
            print_table(table["title"].capitalize(), table["head"], table["rows"])
    print_machine(machine())
    save("wan", {})


if __name__ == "__main__":
    main()
