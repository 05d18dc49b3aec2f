// The few kinds of charts that the sections share, all drawn by D3 into an SVG of WIDTH units.
const WIDTH = 1000;
const MOST_LETTERS = 22; // of a name within a chart

const CLASS_COLOURS = ['gemm', 'attention', 'comm', 'elementwise', 'norm', 'conv', 'optimizer', 'reduction',
  'embedding', 'copy', 'softmax', 'loss', 'index', 'sort', 'fill'];
// The same class has the same colour in every chart.
function classColour(name) {
  const at = CLASS_COLOURS.indexOf(name);
  return `var(--c${at < 0 ? 15 : at})`;
}
const classItems = (names) => names.map((name) => ({ name, colour: classColour(name) }));
const colour = (i) => `var(--c${[0, 1, 4, 2, 6, 5, 8, 7, 10, 11, 13, 12, 3, 9, 14][i % 15]})`;

const tip = {
  show(event, text) {
    const box = document.getElementById('tip');
    box.textContent = text;
    box.hidden = false;
    const x = Math.min(event.clientX + 14, window.innerWidth - box.offsetWidth - 8);
    const below = event.clientY + 16 + box.offsetHeight < window.innerHeight;
    box.style.left = `${Math.max(4, x)}px`;
    box.style.top = `${below ? event.clientY + 16 : event.clientY - box.offsetHeight - 10}px`;
  },
  hide() { document.getElementById('tip').hidden = true; },
};
function withTip(selection, text) {
  return selection.on('mousemove', (d) => tip.show(d3.event, text(d))).on('mouseleave', tip.hide);
}

// A figure with caption, focusable SVG and, where given, a table that says the same. Returns the SVG.
function figure(parent, { title, text, width = WIDTH, height, columns, rows }) {
  const svg = d3.create('svg').attr('viewBox', `0 0 ${width} ${height}`).attr('role', 'img')
    .attr('tabindex', 0).attr('aria-label', `${title}${columns ? '; the table below says the same' : ''}`)
    .style('--least-width', `${0.85 * width}px`);
  const box = element('figure', {}, element('figcaption', {}, element('h3', {}, title),
    text ? note(text) : null), svg.node());
  if (columns) box.append(foldedTable(columns, rows));
  parent.append(box);
  return svg;
}

// items: [{name, colour, pale}]
function legend(svg, items) {
  svg.node().before(element('ul', { class: 'legend' }, ...items.map((item) => {
    const mark = item.colour === 'none' ? null : element('span', item.pale ? { class: 'pale' } : {});
    if (mark) mark.style.background = item.colour;
    return element('li', {}, mark, item.name);
  })));
}

// A grid line and a label for each tick: as many as given, or at the values given.
function drawAxis(svg, axis, ticks, length, text, move) {
  if (Array.isArray(ticks)) axis.tickValues(ticks);
  else axis.ticks(ticks);
  svg.append('g').attr('class', 'grid').attr('transform', move).call(axis.tickSize(length).tickFormat(''));
  svg.append('g').attr('transform', move).call(axis.tickSize(3).tickFormat(text));
}
function xAxis(svg, x, top, bottom, text, label, ticks = 8) {
  drawAxis(svg, d3.axisBottom(x), ticks, top - bottom, text, `translate(0,${bottom})`);
  if (label) {
    svg.append('text').attr('class', 'quiet').attr('x', x.range()[1]).attr('y', bottom + 34)
      .attr('text-anchor', 'end').text(label);
  }
}
function yAxis(svg, y, left, right, text, label, ticks = 5) {
  drawAxis(svg, d3.axisLeft(y), ticks, left - right, text, `translate(${left},0)`);
  if (label) {
    svg.append('text').attr('class', 'quiet').attr('x', left).attr('y', y.range()[1] - 9)
      .attr('text-anchor', 'start').text(label);
  }
}

function stroke(g, kind, from, to) {
  g.append('line').attr('class', kind).attr('x1', from[0]).attr('x2', to[0]).attr('y1', from[1]).attr('y2', to[1]);
}

// Horizontal bars made of parts. groups: [{name, bars: [{name, pale, parts: [{name, value, colour}],
// mark, low, high}]}]; `mark` is a line across the bar, low and high a whisker. Options: title, text,
// format, columns, rows, items (legend), label (of the axis).
function stackedBars(parent, allGroups, options) {
  const groups = allGroups.filter((g) => isShownTime(g.name)).map((g) => ({ ...g, name: worded(g.name),
    bars: g.bars.filter((bar) => isShownTime(bar.name)).map((bar) => ({ ...bar, name: bar.name && worded(bar.name) })) }));
  const longest = (names) => d3.max(names, (name) => (name || '').length) || 0;
  const room = Math.max(90, 16 + 6.9 * Math.min(longest(groups.flatMap((g) => g.bars.map((bar) => bar.name))), MOST_LETTERS));
  const left = Math.min(420, 26 + 6.9 * Math.min(longest(groups.map((g) => g.name)), 44) + (groups.some((g) => g.bars[0].name) ? room : 0));
  const thin = groups.length > 24;
  const thickness = thin ? 6 : 15;
  const gap = thin ? 3 : 9;
  const several = groups.some((g) => g.bars.length > 1);
  let height = 6;
  const places = groups.map((g) => {
    const at = height;
    height += g.bars.length * (thickness + 1) + gap;
    return at;
  });
  const svg = figure(parent, { ...options, height: height + (options.label ? 42 : 26) });
  if (options.items) legend(svg, options.items);
  const end = (bar) => Math.max(d3.sum(bar.parts, (part) => Math.max(part.value, 0)), bar.mark || 0, bar.high || 0);
  const start = (bar) => Math.min(0, d3.min(bar.parts, (part) => part.value) || 0, bar.low || 0);
  const bars = groups.flatMap((g) => g.bars);
  const least = d3.min(bars, start) || 0;
  const x = d3.scaleLinear().domain([least, d3.max(bars, end) || (least < 0 ? 0 : 1)]).nice()
    .range([left, WIDTH - 24]);
  xAxis(svg, x, 0, height, options.format, options.label);
  groups.forEach((group, i) => {
    const g = svg.append('g').attr('transform', `translate(0,${places[i]})`);
    const middle = (group.bars.length * (thickness + 1)) / 2;
    const named = several && !thin && group.bars[0].name;
    g.append('text').attr('x', named ? left - room - 2 : left - 8).attr('y', middle).attr('dy', '.35em')
      .attr('text-anchor', 'end').style('font-size', thin ? '10px' : null).text(shortened(group.name, 44));
    group.bars.forEach((bar, b) => {
      const y = b * (thickness + 1);
      if (named) {
        g.append('text').attr('class', 'quiet').attr('x', left - 8).attr('y', y + thickness / 2)
          .attr('dy', '.35em').attr('text-anchor', 'end').text(shortened(bar.name, MOST_LETTERS));
      }
      let at = 0;
      for (const part of bar.parts) {
        const from = part.value < 0 ? part.value : at;
        withTip(g.append('path').attr('d', `M${x(from)},${y}H${x(from + Math.abs(part.value))}v${thickness}H${x(from)}Z`)
          .style('fill', part.colour).style('fill-opacity', bar.pale ? 0.5 : null),
        () => `${group.name}${bar.name ? `, ${bar.name}` : ''}\n${part.name}: ${options.format(part.value)}` +
          (part.more ? `\n${part.more}` : ''));
        at += Math.max(part.value, 0);
      }
      if (known(bar.mark) && bar.mark > 0) {
        stroke(g, 'mark', [x(bar.mark), y - 1], [x(bar.mark), y + thickness + 1]);
      }
      if (known(bar.low) && bar.high > bar.low) {
        stroke(g, 'whisker', [x(bar.low), y + thickness / 2], [x(bar.high), y + thickness / 2]);
      }
    });
  });
  if (x.domain()[0] < 0) {
    stroke(svg, 'zero', [x(0), 0], [x(0), height]);
  }
  return svg;
}

const SYMBOLS = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross,
  d3.symbolStar, d3.symbolWye];
const SYMBOL_TEXTS = ['●', '■', '▲', '◆', '✚', '★', 'Y'];

// Ticks of a logarithmic axis, whatever it spans.
function logTicks([low, high]) {
  if (high / low < 4) return d3.ticks(low, high, 7);
  const exponents = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
  const all = exponents.flatMap((e) => (exponents.length > 4 ? [1] : [1, 2, 5]).map((digit) => digit * 10 ** e));
  return all.filter((tick) => tick >= low && tick <= high);
}

// Both axes logarithmic. points: [{x, y, colour, symbol, tip, label}]; options.roofs: [{slope, level, colour, tip}], each a
// line that rises as slope × x up to its level.
function logScatter(parent, points, options) {
  const [left, top, bottom] = [84, 26, 330];
  const svg = figure(parent, { ...options, height: bottom + 42 });
  if (options.items) legend(svg, options.items);
  const domain = (values) => {
    const [least, most] = d3.extent(values);
    return [least / 2, most * 2];
  };
  const roofs = options.roofs || [];
  // A roof's knee is seen too.
  const x = d3.scaleLog().domain(domain([...points.map((p) => p.x), ...roofs.map((r) => r.level / r.slope)])).range([left, WIDTH - 24]);
  const y = d3.scaleLog().domain(domain([...points.map((p) => p.y), ...roofs.map((r) => r.level)])).range([bottom, top]);
  // Powers of the base alone where there are many: labels of a log axis crowd easily.
  const ticksOf = (scale, base) => {
    const [low, high] = scale.domain().map((v) => Math.log(v) / Math.log(base));
    const whole = d3.range(Math.ceil(low), Math.floor(high) + 1);
    const every = Math.ceil(whole.length / 10);
    const kept = whole.filter((_, i) => i % every === 0).map((e) => base ** e);
    return kept.length > 1 ? kept : logTicks(scale.domain());
  };
  xAxis(svg, x, top, bottom, options.xText, options.xLabel, ticksOf(x, options.xBase || 10));
  yAxis(svg, y, left, WIDTH - 24, options.yText, options.yLabel, ticksOf(y, 10));
  for (const roof of roofs) {
    // Where it enters the picture, from below or from the left; its knee; the right edge.
    const from = Math.max(x.domain()[0], y.domain()[0] / roof.slope);
    const knee = roof.level / roof.slope;
    const line = [[from, roof.slope * from], [knee, roof.level], [x.domain()[1], roof.level]];
    withTip(svg.append('path').attr('class', 'roof').attr('d', d3.line()(line.map(([a, b]) => [x(a), y(b)]))).style('stroke', roof.colour), () => roof.tip);
  }
  const marks = svg.selectAll('path.point').data(points).enter().append('path').attr('class', 'point')
    .attr('d', (p) => d3.symbol().type(SYMBOLS[(p.symbol || 0) % SYMBOLS.length]).size(80)())
    .attr('transform', (p) => `translate(${x(p.x)},${y(p.y)})`)
    .style('fill', (p) => p.colour).style('fill-opacity', 0.8).style('stroke', (p) => p.colour);
  withTip(marks, (p) => p.tip);
  const taken = [];
  for (const p of points.filter((point) => point.label)) {
    const place = { x: x(p.x) + 9, y: y(p.y) + 4 };
    // A label that would lie on another is left to the tip and the table.
    if (taken.some((other) => Math.abs(other.y - place.y) < 13 && Math.abs(other.x - place.x) < 80)) continue;
    taken.push(place);
    svg.append('text').attr('x', place.x).attr('y', place.y).text(p.label);
  }
  return svg;
}
