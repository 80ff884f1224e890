"""Draw what a terminal shows as an SVG: text with escape sequences on stdin, `WIDTH,HEIGHT` in pixels on stdout."""

import argparse
import io
import math
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

# Rich's template fetches a font from the web; ours is on the machine.
TEMPLATE = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", monospace; font-size: {char_height}px; white-space: pre; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""

# Width by height of a letter of DejaVu Sans Mono.
LETTER_ASPECT = 0.602

THEME = TerminalTheme(
    (21, 24, 28),
    (205, 210, 216),
    [(46, 52, 60), (224, 108, 96), (126, 182, 116), (214, 170, 86), (98, 156, 224), (186, 130, 204), (86, 182, 194)]
    + [(171, 178, 191)],
    [(110, 118, 130), (240, 134, 122), (152, 206, 142), (236, 196, 116), (130, 182, 244), (208, 156, 226)]
    + [(116, 206, 216), (236, 240, 244)],
)


def main() -> None:
    """Read stdin, write the picture, print its size."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("picture", type=Path, help="the SVG to write")
    arguments.add_argument("--title", required=True, help="what stands above the picture")
    given = arguments.parse_args()
    shown = Text.from_ansi(sys.stdin.read().rstrip("\n"), no_wrap=True, overflow="ignore")
    width = max(line.cell_len for line in shown.split())
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(shown, crop=False)
    svg = console.export_svg(
        title=given.title, theme=THEME, code_format=TEMPLATE, font_aspect_ratio=LETTER_ASPECT, unique_id="terminal"
    )
    given.picture.write_text(svg)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    print(",".join(str(math.ceil(float(side))) for side in size.groups()))


if __name__ == "__main__":
    main()
