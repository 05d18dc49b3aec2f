// Small multiples: one panel a measure, over the sides of a comparison. A measure is {title, format,
// cells: one a side {value, low, high, more}, ticks: as format, line: a value to mark, dots: no zero,
// why: what to say where no side has a value}.
const PANEL = 520;

function emptyPanel(grid, { title, why }) {
  grid.append(element('figure', {}, element('figcaption', {}, element('h3', {}, title), note(why))));
}
const measureColumns = (data, { format, cells }) => [textColumn('side', (s) => data.sides[s].label), column('value', (s) => format(cells[s].value)),
  column('from', (s) => format(cells[s].low)), column('to', (s) => format(cells[s].high)), textColumn('', (s) => cells[s].more || '')];

function extentOf(cells, ...more) {
  return d3.extent([...cells.flatMap((cell) => [cell.value, cell.low, cell.high]), ...more].filter(known));
}
// From zero where bars begin there; else a little around what there is.
function panelDomain(cells, { line, dots }) {
  const [least, most] = extentOf(cells, ...(known(line) ? [line] : []));
  if (!dots) return [Math.min(0, least), most > 0 ? most : 1];
  const pad = (most - least || Math.abs(most) || 1) * 0.15;
  return [least - pad, most + pad];
}

// Sides from top to bottom, each with its value in words.
function barPanel(grid, data, measure) {
  const { title, text, format, ticks, cells, line, dots } = measure;
  if (!cells.some((cell) => known(cell.value))) {
    emptyPanel(grid, measure);
    return;
  }
  const tall = 24;
  const letters = Math.min(d3.max(labels(data), (label) => label.length), MOST_LETTERS);
  const height = cells.length * tall + 4;
  const svg = figure(grid, { title, text, width: PANEL, height: height + 26, columns: measureColumns(data, measure), rows: d3.range(cells.length) });
  const x = d3.scaleLinear().domain(panelDomain(cells, measure)).nice().range([14 + 6.9 * letters, PANEL - 88]);
  xAxis(svg, x, 0, height, ticks || format, '', 4);
  const row = (s) => svg.append('g').attr('transform', `translate(0,${s * tall + tall / 2 + 2})`);
  cells.forEach((cell, s) => drawBar(row(s), x, cell, placeOf(data, s), { ...measure, label: data.sides[s].label }));
  if (known(line)) stroke(svg, 'one', [x(line), 0], [x(line), height]);
  // Last, so that nothing lies on the values.
  cells.forEach((cell, s) => row(s).append('text').attr('class', known(cell.value) ? 'value' : 'quiet').attr('dy', '.35em')
    .attr('x', d3.max([x.range()[0], x(cell.value || 0), x(cell.high || 0)]) + (dots ? 12 : 6)).text(known(cell.value) ? format(cell.value) : 'not known'));
}
function drawBar(g, x, cell, s, { label, title, format, dots }) {
  g.append('text').attr('x', x.range()[0] - 8).attr('dy', '.35em').attr('text-anchor', 'end').text(shortened(label, MOST_LETTERS));
  if (!known(cell.value)) return;
  const shape = dots ? d3.symbol().type(SYMBOLS[s % SYMBOLS.length]).size(80)() : `M${x(0)},-8H${x(cell.value)}V8H${x(0)}Z`;
  withTip(g.append('path').attr('d', shape).attr('transform', dots ? `translate(${x(cell.value)},0)` : null).style('fill', colour(s)),
    () => [label, `${title}: ${format(cell.value)}`, cell.more].filter(Boolean).join('\n'));
  if (cell.high > cell.low) stroke(g, 'whisker', [x(cell.low), 0], [x(cell.high), 0]);
}

// Sides at their `number`: a point each and, for each series, a line through the medians of those at the same place.
function linePanel(grid, data, measure) {
  const { title, text, format, cells } = measure;
  const points = data.sides.map((side, s) => ({ side, s, at: side.number, ...cells[s] })).filter((p) => known(p.at) && known(p.value));
  if (points.length === 0) {
    emptyPanel(grid, measure);
    return;
  }
  const [left, bottom] = [74, 200];
  const svg = figure(grid, { title, text, width: PANEL, height: bottom + 40, columns: measureColumns(data, measure), rows: d3.range(cells.length) });
  const x = numberScale(data, [left + 16, PANEL - 20]);
  const y = d3.scaleLinear().domain(panelDomain(points, measure)).nice().range([bottom, 8]);
  xAxis(svg, x, 8, bottom, number, data.axis || 'number in the label', shownNumbers(data, x));
  yAxis(svg, y, left, PANEL - 20, format, '', 4);
  for (const { values } of d3.nest().key((p) => p.side.series || '').entries(points)) {
    const means = d3.nest().key((p) => p.at).entries(values).map((group) => [Number(group.key), d3.median(group.values, (p) => p.value)]).sort((a, b) => a[0] - b[0]);
    const path = svg.append('path').attr('class', 'zero').style('fill', 'none').attr('d', d3.line()(means.map(([at, value]) => [x(at), y(value)])));
    if (values[0].side.series) path.style('stroke', colour(placeOf(data, values[0].s)));
  }
  for (const p of points) {
    if (p.high > p.low) stroke(svg, 'whisker', [x(p.at), y(p.low)], [x(p.at), y(p.high)]);
    withTip(svg.append('path').attr('d', d3.symbol().type(SYMBOLS[placeOf(data, p.s) % SYMBOLS.length]).size(70)()).attr('transform', `translate(${x(p.at)},${y(p.value)})`)
      .style('fill', colour(placeOf(data, p.s))), () => [p.side.label, `${title}: ${format(p.value)}`, p.more].filter(Boolean).join('\n'));
  }
}
const numbers = (data) => [...new Set(data.sides.map((side) => side.number).filter(known))].sort((a, b) => a - b);
// Sizes that double stand at equal distances.
function numberScale(data, range) {
  const all = numbers(data);
  const [least, most] = d3.extent(all);
  if (least > 0 && most / least >= 6) return d3.scaleLog().base(2).domain([least, most]).range(range);
  return d3.scaleLinear().domain(least === most ? [least - 1, most + 1] : [least, most]).range(range);
}
// Those whose labels do not lie on another's.
function shownNumbers(data, x) {
  let last = -Infinity;
  return numbers(data).filter((at) => {
    if (x(at) - last < 34) return false;
    last = x(at);
    return true;
  });
}
