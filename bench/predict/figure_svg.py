#!/usr/bin/env python3
"""Panels of a page's section as one SVG file, for documents: docs/images of docs/study.md are made with it. Needs Chromium.

    reprise sweep charllm-h200x32 --until-steady -o study
    bench/predict/figure_svg.py study/figures.html --section "gpt3-175b: settings beside each other" \\
        --panels "Time throttled" "Highest temperature" -o throttling.svg
"""
import argparse
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "e2e"))
import browser  # noqa: E402

# Styles as they are shown, as attributes: a file alone has no style sheet. Width and height of each panel, and the legend.
COLLECT = """(() => {
  const section = [...document.querySelectorAll('section')].find(s => s.querySelector('h2').textContent === SECTION);
  if (!section) return null;
  const figures = PANELS.map(title => [...section.querySelectorAll('figure')].find(f => f.querySelector('h3').textContent === title));
  if (figures.some(f => !f || !f.querySelector('svg'))) return null;
  const copied = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-size', 'paint-order'];
  const initial = { 'stroke': 'none', 'stroke-width': '1px', 'stroke-dasharray': 'none', 'paint-order': 'normal', 'fill': 'rgb(0, 0, 0)' };
  const panel = (figure) => {
    const svg = figure.querySelector('svg'), copy = svg.cloneNode(true);
    const from = [...svg.querySelectorAll('*')], to = [...copy.querySelectorAll('*')];
    from.forEach((node, i) => {
      const style = getComputedStyle(node), target = to[i], leaf = node.children.length === 0;
      target.removeAttribute('class'); target.removeAttribute('style');
      if (style.display === 'none') { target.setAttribute('display', 'none'); return; }
      if (!leaf) { ['fill', 'font-size', 'font-family'].forEach(name => target.removeAttribute(name)); return; }
      for (const name of copied) {
        target.removeAttribute(name);
        if (name === 'font-size' && node.tagName !== 'text') continue;
        if (style[name.replace(/-(.)/g, (_, c) => c.toUpperCase())] !== initial[name]) target.setAttribute(name, style.getPropertyValue(name));
      }
    });
    copy.querySelectorAll('[display=none]').forEach(node => node.remove());
    const [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
    const caption = [...figure.querySelectorAll('figcaption > *')].map(e => e.textContent);
    return { width, height, caption, svg: copy.innerHTML };
  };
  const legend = [...section.querySelectorAll(':scope > .body > ul.legend > li')].map(li =>
    ({ text: li.textContent, colour: getComputedStyle(li.querySelector('span')).backgroundColor }));
  return { panels: figures.map(panel), legend };
})()"""


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shortened(svg):
    """Coordinates to a tenth of a unit; texts stay as they are."""
    def in_tag(tag):
        return re.sub(r"-?\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), tag[0])

    svg = re.sub(r"<[^>]*>", in_tag, svg)
    return re.sub(r"rgb\((\d+), (\d+), (\d+)\)", lambda c: "#" + "".join(f"{int(part):02x}" for part in c.groups()), svg)


def text(x, y, content, size, colour="#1c2330", weight="normal"):
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{colour}">{escaped(content)}</text>'


def compose(title, found, columns):
    width = max(panel["width"] for panel in found["panels"])
    tall = max(panel["height"] for panel in found["panels"]) + 52
    rows = -(-len(found["panels"]) // columns)
    height = 56 + rows * tall
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * width} {height}" font-family="DejaVu Sans, Verdana, sans-serif" '
             f'font-size="12"><title>{escaped(title)}</title><rect width="100%" height="100%" fill="#fff"/>', text(14, 22, f"{title} (modelled)", 15, weight="bold")]
    x = 14
    for item in found["legend"]:
        parts.append(f'<rect x="{x}" y="33" width="11" height="11" fill="{item["colour"]}"/>' + text(x + 16, 43, item["text"], 12, "#5b6676"))
        x += 34 + 7.2 * len(item["text"])
    for i, panel in enumerate(found["panels"]):
        parts.append(f'<g transform="translate({i % columns * width},{56 + i // columns * tall})">{text(14, 18, panel["caption"][0], 14, weight="bold")}'
                     f'{text(14, 35, "".join(panel["caption"][1:]), 12, "#5b6676")}<g transform="translate(0,44)">{panel["svg"]}</g></g>')
    return shortened("\n".join(parts)) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--section", required=True)
    parser.add_argument("--panels", nargs="+", required=True)
    parser.add_argument("--columns", type=int, default=2)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    flags = parser.parse_args()
    with browser.Page() as page:
        page.open(flags.page.resolve())
        found = page.evaluate(COLLECT.replace("SECTION", json.dumps(flags.section)).replace("PANELS", json.dumps(flags.panels)))
    if found is None:
        parser.error(f"{flags.page}: expected a section '{flags.section}' with these panels: {', '.join(flags.panels)}")
    flags.output.write_text(compose(flags.section, found, flags.columns))


if __name__ == "__main__":
    main()
