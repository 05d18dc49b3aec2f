#!/usr/bin/env python3
"""Draws docs/images/layers.svg, the house: the libraries of cmake/layers.txt, each above all that it uses.

    scripts/draw_layers.py            writes the picture
    scripts/draw_layers.py --check    exit code 1 where it is another one (the structure test runs this)
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "layers.svg"
COLOURS = {"shared": "#d8dee4", "replay": "#b6e3ff", "instead of replay": "#f6f8fa", "predict": "#ffd8b5", "analyse and share": "#aceebb"}
BOX, GAP, ROW = 146, 12, 84


def read_layers():
    layers = {}
    for line in (ROOT / "cmake" / "layers.txt").read_text().splitlines():
        if found := re.match(r"([\w/]+):([^[]*)\[(.+)\]$", line):
            layers[found.group(1)] = (found.group(2).split(), found.group(3))
    return layers


def levels(layers):
    """By folder the length of the longest way down."""
    level = {}
    for name, (used, _) in layers.items():  # lowest first
        level[name] = 1 + max((level[other] for other in used), default=-1)
    return level


def direct(layers, name):
    """What it uses, without what comes with that."""
    used = set(layers[name][0])
    return sorted(used - {below for other in used for below in layers[other][0]})


def draw(layers):
    level = levels(layers)
    top = max(level.values())
    height = (top + 1) * ROW + 60
    page = max(list(level.values()).count(row) for row in range(top + 1)) * (BOX + GAP) + 2 * GAP
    place = {}
    for row in range(top + 1):
        names = sorted((name for name in layers if level[name] == row), key=lambda name: (list(COLOURS).index(layers[name][1]), name))
        width = len(names) * BOX + (len(names) - 1) * GAP
        for i, name in enumerate(names):
            place[name] = ((page - width) / 2 + i * (BOX + GAP), (top - row) * ROW + 50)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {page} {height}" font-family="sans-serif" font-size="13">',
             '<!-- Made by scripts/draw_layers.py from cmake/layers.txt. -->',
             f'<rect width="{page}" height="{height}" fill="#fff"/>']
    for i, (product, colour) in enumerate(COLOURS.items()):
        lines.append(f'<rect x="{20 + 180 * i}" y="10" width="16" height="16" fill="{colour}" stroke="#57606a"/>'
                     f'<text x="{42 + 180 * i}" y="23">{product}</text>')
    for name in layers:
        x, y = place[name]
        for other in direct(layers, name):
            to_x, to_y = place[other]
            lines.append(f'<path d="M{x + BOX / 2:.0f} {y + 36:.0f}C{x + BOX / 2:.0f} {y + 62:.0f} {to_x + BOX / 2:.0f} {to_y - 26:.0f} '
                         f'{to_x + BOX / 2:.0f} {to_y:.0f}" fill="none" stroke="#8c959f"/>')
    for name, (_, product) in layers.items():
        x, y = place[name]
        lines.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{BOX}" height="36" rx="5" fill="{COLOURS[product]}" stroke="#57606a"/>'
                     f'<text x="{x + BOX / 2:.0f}" y="{y + 23:.0f}" text-anchor="middle">{name}/</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def main():
    picture = draw(read_layers())
    if "--check" in sys.argv[1:]:
        if not PICTURE.exists() or PICTURE.read_text() != picture:
            print("docs/images/layers.svg is not what cmake/layers.txt says: run scripts/draw_layers.py", file=sys.stderr)
            return 1
        return 0
    PICTURE.write_text(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
