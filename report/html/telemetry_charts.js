// Power, temperature, clock and utilisation against time, one host at a time, with what ran below
// them. All charts share one time axis; the strip at the bottom chooses its part.
const LEFT = 74;
const RIGHT = WIDTH - 20;
const SHOWN_FIRST = ['watts', 'celsius', 'hertz', 'fraction'];

// A series' readings in an interval as [time, low, high], no more than one a column.
function readings(series, [begin, end], columns) {
  const times = series.times_us;
  const first = Math.max(0, d3.bisectRight(times, begin) - 1);
  const last = Math.min(times.length, d3.bisectRight(times, end) + 1);
  const point = (i) => [times[i], series.low[i], series.binned ? series.high[i] : series.low[i]];
  if (last - first <= columns) return d3.range(first, last).map(point);
  const bins = new Map();
  for (let i = first; i < last; i += 1) {
    const [time, low, high] = point(i);
    const bin = Math.floor(((time - begin) / (end - begin)) * columns);
    const kept = bins.get(bin);
    if (kept) {
      kept[1] = Math.min(kept[1], low);
      kept[2] = Math.max(kept[2], high);
    } else {
      bins.set(bin, [time, low, high]);
    }
  }
  return [...bins.values()];
}

// State of the section that a redraw for another filter keeps.
const timeView = { host: 0, domain: null };

class TimeCharts {
  constructor(box, host, data, filters) {
    Object.assign(this, { box, host, data, filters });
    this.full = [host.begin_ns / 1e3, host.end_ns / 1e3];
    this.x = d3.scaleLinear().domain(timeView.domain || this.full).range([LEFT, RIGHT]);
    this.painters = [];
    this.drawControls();
    this.addMetrics();
    this.addOperations();
    this.addStrip();
    this.paint();
  }

  button(text, label, action) {
    const button = element('button', { type: 'button', 'aria-label': label, title: label }, text);
    button.addEventListener('click', action);
    return button;
  }

  drawControls() {
    this.shown = element('span', { class: 'note', role: 'status' });
    this.box.append(element('div', { class: 'controls' }, this.button('+', 'Zoom in', () => this.zoom(0.5)),
      this.button('−', 'Zoom out', () => this.zoom(2)), this.button('◀', 'Earlier', () => this.shift(-0.3)),
      this.button('▶', 'Later', () => this.shift(0.3)), this.button('All', 'The whole run', () => this.show(this.full)), this.shown));
  }

  zoom(factor) {
    const [begin, end] = this.x.domain();
    const half = Math.min(((end - begin) / 2) * factor, (this.full[1] - this.full[0]) / 2);
    const middle = (begin + end) / 2;
    this.show([middle - half, middle + half]);
  }

  shift(share) {
    const [begin, end] = this.x.domain();
    this.show([begin + share * (end - begin), end + share * (end - begin)]);
  }

  show([begin, end]) {
    const width = Math.max(100, Math.min(end - begin, this.full[1] - this.full[0]));
    const from = Math.min(Math.max(begin, this.full[0]), this.full[1] - width);
    timeView.domain = [from, from + width];
    this.x.domain(timeView.domain);
    this.paint();
  }

  paint() {
    const [begin, end] = this.x.domain();
    this.shown.textContent = `${duration(begin * 1e3)} to ${duration(end * 1e3)}; 0 is where the measured time begins. Keys: + − ← → 0.`;
    this.painting = true;
    this.painters.forEach((painter) => painter());
    this.painting = false;
  }

  onKey(svg) {
    svg.on('keydown', () => {
      const action = { '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2), ArrowLeft: () => this.shift(-0.3),
        ArrowRight: () => this.shift(0.3), 0: () => this.show(this.full) }[d3.event.key];
      if (action) {
        d3.event.preventDefault();
        action();
      }
    });
  }

  // Frame of one chart: `draw(plot, y, svg)` fills it whenever the time axis changes.
  chart(place, options, height, domain, text, draw) {
    const svg = figure(place, { ...options, height });
    const y = d3.scaleLinear().domain(domain).nice(4).range([height - 20, 10]);
    const clip = `clip${(TimeCharts.clips = (TimeCharts.clips || 0) + 1)}`;
    svg.append('clipPath').attr('id', clip).append('rect').attr('x', LEFT).attr('y', 0).attr('width', RIGHT - LEFT).attr('height', height - 20);
    const back = svg.append('g').attr('clip-path', `url(#${clip})`);
    yAxis(svg, y, LEFT, RIGHT, text, null, 4);
    const axis = svg.append('g').attr('transform', `translate(0,${height - 20})`);
    const plot = svg.append('g').attr('clip-path', `url(#${clip})`);
    this.onKey(svg);
    this.painters.push(() => {
      back.selectAll('*').remove();
      this.paintIterations(back, height - 20);
      axis.call(d3.axisBottom(this.x).ticks(8).tickSize(3).tickFormat((us) => duration(us * 1e3)));
      plot.selectAll('*').remove();
      draw(plot, y, svg);
    });
    return svg;
  }

  paintIterations(g, height) {
    for (const row of this.host.iterations) {
      const [begin, end] = [this.x(row.begin_ns / 1e3), this.x(row.end_ns / 1e3)];
      if (end < LEFT || begin > RIGHT) continue;
      g.append('rect').attr('class', row.warmup ? 'warmup' : 'iteration').attr('x', begin).attr('y', 0)
        .attr('width', Math.max(0.5, end - begin)).attr('height', height);
    }
  }

  paintThrottling(g, height) {
    for (const row of this.data.report.thermal.throttling.filter((r) => r.host === this.host.host)) {
      for (const interval of row.intervals) {
        const begin = this.x(interval.begin_ns / 1e3);
        const end = this.x((interval.begin_ns + interval.length_ns) / 1e3);
        if (end < LEFT || begin > RIGHT) continue;
        withTip(g.append('rect').attr('class', 'throttled').attr('x', begin).attr('y', height - 14).attr('width', Math.max(1, end - begin)).attr('height', 14),
          () => `${row.device} throttled for ${duration(interval.length_ns)}\n${interval.reasons.join(', ')}`);
      }
    }
  }

  addMetrics() {
    const wanted = this.host.series.filter((s) => s.ranks.length === 0 || this.filters.rank === '' || s.ranks.includes(Number(this.filters.rank)));
    const metrics = d3.nest().key((s) => `${s.metric}\n${s.unit}`).entries(wanted);
    const order = (m) => (SHOWN_FIRST.indexOf(m.values[0].unit) + 1) || 9;
    metrics.sort((a, b) => order(a) - order(b));
    const others = metrics.filter((m) => order(m) === 9);
    metrics.filter((m) => order(m) < 9).forEach((m) => this.addMetric(this.box, m.values));
    if (others.length) {
      const more = element('details', {}, element('summary', {}, plural(others.length, 'other metric')));
      this.box.append(more);
      others.forEach((m) => this.addMetric(more, m.values));
    }
  }

  addMetric(place, list) {
    const { metric, unit } = list[0];
    const format = metricText(unit);
    const paint = (i) => colour(i);
    const high = (s) => d3.max(s.binned ? s.high : s.low);
    const least = d3.min(list, (s) => d3.min(s.low));
    // From 0, but for temperatures and clocks, whose changes would not be seen.
    const from = unit === 'celsius' || unit === 'hertz' ? least : Math.min(0, least);
    const most = d3.max(list, high);
    const modelled = list.some((s) => s.modelled);
    const throttling = unit === 'hertz';
    const svg = this.chart(place, {
      title: `${metric.replace(/_/g, ' ')}${modelled ? ' (modelled)' : ''}, ${unit === 'hertz' ? 'GHz' : unit === 'celsius' ? '°C' : unit}`,
      columns: [textColumn('device', (s) => s.device), textColumn('source', (s) => s.source + (s.modelled ? ' (modelled)' : '')),
        textColumn('ranks', (s) => s.ranks.join(', ')), column('mean', (s) => format(s.mean)), column('most', (s) => format(s.max))],
      rows: list,
    }, 132, from === most ? [Math.min(from, 0), most + 1e-3 + Math.abs(most)] : [from, most], format, (plot, y) => {
      const area = d3.area().x((p) => this.x(p[0])).y0((p) => y(p[1])).y1((p) => y(p[2])).curve(d3.curveStepAfter);
      list.forEach((s, i) => {
        const points = readings(s, this.x.domain(), RIGHT - LEFT);
        withTip(plot.append('path').attr('class', 'series').attr('d', area(points)).style('stroke', paint(i)).style('fill', paint(i)),
          () => `${s.device} (${s.source})${s.modelled ? ' modelled' : ''}\nmean ${format(s.mean)}, most ${format(s.max)}`);
      });
      if (throttling) this.paintThrottling(plot, 112);
    });
    if (list.length <= 16) legend(svg, list.map((s, i) => ({ name: `${s.device} (${s.source}${s.modelled ? ', modelled' : ''})`, colour: paint(i) })));
    else svg.node().before(note(`${plural(list.length, 'device')}; hover for names.`));
  }

  addOperations() {
    const { classes, running, bin_ns: binNs, begin_ns: beginNs } = this.host;
    const chosen = classes.map((name, c) => ({ name, values: running[c] })).filter((c) => matches(this.filters.class, c.name));
    if (chosen.length === 0) {
      this.box.append(note('No operations of this run (or class) ran while there was telemetry.'));
      return;
    }
    const bins = chosen[0].values.length;
    const rows = d3.range(bins).map((b) => Object.fromEntries(chosen.map((c) => [c.name, c.values[b]])));
    const stack = d3.stack().keys(chosen.map((c) => c.name))(rows);
    const most = d3.max(stack[stack.length - 1], (d) => d[1]) || 1;
    const time = (b) => (beginNs + b * binNs) / 1e3;
    const svg = this.chart(this.box, {
      title: 'Operations that ran, all ranks of the host', text: `Mean number at once, by class, in bins of ${duration(binNs)}. Shaded: iterations; dashed: warm-up.`,
      columns: [textColumn('class', (c) => c.name), column('mean at once', (c) => number(d3.mean(c.values))), column('most', (c) => number(d3.max(c.values)))], rows: chosen,
    }, 150, [0, most], number, (plot, y) => {
      const area = d3.area().x((d, b) => this.x(time(b))).y0((d) => y(d[0])).y1((d) => y(d[1])).curve(d3.curveStepAfter);
      stack.forEach((layer) => withTip(plot.append('path').attr('d', area(layer)).style('fill', classColour(layer.key)),
        () => layer.key));
    });
    legend(svg, classItems(chosen.map((c) => c.name)));
  }

  // The whole run: what is dragged over here is what the charts show.
  addStrip() {
    const height = 46;
    const svg = figure(this.box, { title: 'Whole run: drag to choose a part', height });
    const whole = d3.scaleLinear().domain(this.full).range([LEFT, RIGHT]);
    const series = this.host.series.find((s) => s.unit === 'watts') || this.host.series[0];
    const y = d3.scaleLinear().domain([0, d3.max(series.binned ? series.high : series.low) || 1]).range([height - 18, 2]);
    svg.append('path').attr('class', 'series').style('stroke', colour(0)).style('fill', colour(0)).attr('d',
      d3.area().x((p) => whole(p[0])).y0((p) => y(p[1])).y1((p) => y(p[2])).curve(d3.curveStepAfter)(readings(series, this.full, RIGHT - LEFT)));
    svg.append('g').attr('transform', `translate(0,${height - 18})`).call(d3.axisBottom(whole).ticks(8).tickSize(3).tickFormat((us) => duration(us * 1e3)));
    const brush = d3.brushX().extent([[LEFT, 0], [RIGHT, height - 18]]).on('end', () => {
      // Moving the brush to what is shown ends a brush too.
      if (!d3.event.sourceEvent || this.painting) return;
      this.show(d3.event.selection ? d3.event.selection.map(whole.invert) : this.full);
    });
    const g = svg.append('g').call(brush);
    this.onKey(svg);
    this.painters.push(() => {
      const part = this.x.domain();
      g.call(brush.move, part[1] - part[0] < this.full[1] - this.full[0] ? part.map(whole) : null);
    });
  }
}

function drawTelemetry(box, data, filters) {
  let hosts = data.telemetry.filter((host) => host.series.length > 0);
  if (filters.rank !== '') hosts = hosts.filter((host) => host.ranks.includes(Number(filters.rank)));
  if (hosts.length === 0) return 'No samples: nothing was read of the devices in this run (or on this rank\'s host).';
  const place = element('div');
  const redraw = () => {
    place.replaceChildren();
    new TimeCharts(place, hosts[timeView.host], data, filters);
  };
  timeView.host = Math.min(timeView.host, hosts.length - 1);
  const chosen = filters.iteration === '' ? null : hosts[timeView.host].iterations.find((row) => String(row.iteration) === filters.iteration);
  if (chosen) timeView.domain = [chosen.begin_ns / 1e3, chosen.end_ns / 1e3];
  if (hosts.length > 1) {
    const select = element('select', { id: 'host' }, ...hosts.map((host, i) => element('option', { value: i }, host.host)));
    select.value = timeView.host;
    select.addEventListener('change', () => { Object.assign(timeView, { host: Number(select.value), domain: null }); redraw(); });
    box.append(element('div', { class: 'controls' }, element('label', { for: 'host' }, 'Host'), select));
  }
  box.append(note('As sampled; where there are more samples than fit, the least and most of each bin. Totals are drawn as rates. ' +
    'Red below a clock: throttled. Choosing an iteration above shows that iteration.'), place);
  redraw();
  return undefined;
}

const TELEMETRY_SECTIONS = [{ id: 'telemetry', title: 'Power, temperature, clock and utilisation against time',
  uses: ['rank', 'class', 'iteration'], draw: drawTelemetry, left_out: ['telemetry.series'] }];
