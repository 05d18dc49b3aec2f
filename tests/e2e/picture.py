#!/usr/bin/env python3
"""The top of a report as the README shows it: picture.py REPORT.html PICTURE.png [HEIGHT]. Needs Chromium."""
import pathlib
import sys

import browser

WIDTH = 1180


def main():
    report, picture = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    height = int(sys.argv[3]) if len(sys.argv) > 3 else 700
    with browser.Page(WIDTH, height) as page:
        page.open(report)
        page.emulate(theme="light")
        page.screenshot(picture, whole=False)
    print(f"{picture}: {picture.stat().st_size} bytes")


if __name__ == "__main__":
    main()
