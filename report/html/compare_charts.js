// What differs between the sides of a comparison, and of what the difference is made.
const CARD_ROWS = ['energy', 'tokens_per_second', 'samples_per_second', 'tokens_per_joule', 'samples_per_joule', 'power', 'temperature'];

const line = (...parts) => element('dd', { class: 'more' }, ...parts);
function sideCard(data, s) {
  const side = data.sides[s];
  const knownHere = (name) => data.quantities.find((row) => row.name === name && known(row.cells[s].value));
  const time = knownHere('time');
  const relation = (row) => {
    const text = s > 0 ? relationText(row, row.cells[s]) : '';
    return text ? [`${text} `, judgementMark(row.better, row.cells[s].ratio)] : [];
  };
  const rows = CARD_ROWS.map(knownHere).filter(Boolean);
  return element('dl', { class: 'card' }, element('dt', {}, swatch(s), side.label),
    element('dd', { class: 'value' }, time ? valueText(time, time.cells[s]) : UNKNOWN),
    line(time ? `${time.label}, ${repeatsText(data, time.cells[s].repeats)}` : 'no step time'),
    s === 0 ? line('ratios are to this side') : time ? line(...relation(time)) : null,
    ...rows.map((row) => line(`${row.label}: ${valueText(row, row.cells[s])}`, ...(relation(row).length ? [', ', ...relation(row)] : []))),
    line(`${side.devices || 'unknown devices'}; ${plural(side.world_size, 'rank')}${side.hosts > 0 ? ` on ${plural(side.hosts, 'host')}` : ''}`));
}

function drawVerdict(box, data) {
  for (const text of data.warnings) box.append(warning(text));
  for (const text of data.verdicts) box.append(element('p', { class: 'verdict' }, text));
  box.append(note(howMeasured(data)), element('div', { class: 'cards sides' }, ...data.sides.map((_, s) => sideCard(data, s))));
}

// A value over its range and repeats over its ratio.
function summaryCell(row, s) {
  const cell = row.cells[s];
  if (!known(cell.value)) return UNKNOWN;
  const relation = s > 0 ? relationText(row, cell) : '';
  const range = [rangeText(row, cell), `n = ${count(cell.repeats)}`].filter(Boolean).join(', ');
  return element('div', {}, element('strong', {}, valueText(row, cell)), element('br'), element('small', {}, range),
    ...(relation ? [element('br'), `${relation} `, judgementMark(row.better, cell.ratio)] : []));
}
function drawSummaryTable(box, data) {
  const rows = rowsOf(data, 'summary');
  if (rows.length === 0) return 'Nothing was measured on any side.';
  const name = (row) => element('div', {}, row.label, ...(row.note ? [element('br'), element('small', {}, `no ratio: ${row.note}`)] : []));
  const whole = table([textColumn('quantity', name), ...heads(data).map((head, s) => column(head, (row) => summaryCell(row, s)))], rows);
  whole.classList.add('whole');
  const values = data.repeats === 'none' ? 'Values of one recording' : `Median; least to most of n ${data.repeats}`;
  box.append(note(`${values}; ratio to ${data.sides[0].label} with its 95\u00a0% interval (of degrees and shares the difference). ▲ better and ▼ worse stand ` +
    `where the interval leaves 1 out; for some quantities neither is better.${data.repeats === 'iterations' ? ' n = 1: one value of the whole run, so no interval.' : ''}`), whole);
  return undefined;
}

function drawRatios(box, data) {
  const rows = rowsOf(data, 'summary').filter((row) => row.cells.some((cell, s) => s > 0 && cell.ratio));
  if (rows.length === 0) return 'No ratio is known: the sides have no quantity in common that may be divided.';
  const tall = 17;
  const longest = (texts, most) => 16 + 6.9 * Math.min(d3.max(texts, (text) => text.length), most);
  // One side alone needs no name.
  const names = data.sides.length > 2 ? longest(labels(data).slice(1), 16) : 0;
  const [left, right] = [longest(rows.map((row) => row.label), 38) + names, WIDTH - 300];
  const dots = rows.map((row) => row.cells.map((cell, s) => ({ row, s, ratio: cell.ratio })).filter((dot) => dot.s > 0 && dot.ratio));
  const [least, most] = d3.extent([1, ...dots.flat().flatMap(({ ratio }) => [ratio.value, ratio.low, ratio.high])].filter((v) => v > 0));
  const height = d3.sum(dots, (list) => list.length * tall + 8);
  const svg = figure(box, { title: `Ratios to ${data.sides[0].label}`, height: height + 40,
    text: `${data.repeats === 'runs' ? 'Whiskers: 95 % interval from run to run. ' : data.repeats === 'recordings' ? 'Whiskers: 95 % interval from recording to recording. ' : ''}The dashed line is 1; the axis is logarithmic.`,
    columns: [textColumn('quantity', (row) => row.label), ...valueColumns(data)], rows });
  legend(svg, sideItems(data, 1));
  const x = d3.scaleLog().domain([least / 1.06, most * 1.06]).range([left, right]);
  xAxis(svg, x, 0, height, ratioTick, 'ratio', logTicks(x.domain()));
  stroke(svg, 'one', [x(1), 0], [x(1), height]);
  let at = 4;
  rows.forEach((row, i) => {
    svg.append('text').attr('x', left - names - 10).attr('y', at + (dots[i].length * tall) / 2).attr('dy', '.35em').attr('text-anchor', 'end')
      .text(shortened(row.label, 38));
    for (const dot of dots[i]) {
      const g = svg.append('g').attr('transform', `translate(0,${at + tall / 2})`);
      if (names) g.append('text').attr('class', 'quiet').attr('x', left - 10).attr('dy', '.35em').attr('text-anchor', 'end').text(shortened(data.sides[dot.s].label, 16));
      drawRatio(g, x, data.sides[dot.s].label, dot);
      at += tall;
    }
    at += 8;
  });
  return undefined;
}
function drawRatio(g, x, label, { row, s, ratio }) {
  if (known(ratio.low)) stroke(g, 'whisker', [x(ratio.low), 0], [x(ratio.high), 0]);
  withTip(g.append('path').attr('d', d3.symbol().type(SYMBOLS[s % SYMBOLS.length]).size(70)()).attr('transform', `translate(${x(ratio.value)},0)`)
    .style('fill', colour(s)), () => `${label}\n${row.label}: ${ratioText(ratio)}`);
  const { kind, mark, word } = judgement(row.better, ratio);
  const text = g.append('text').attr('x', WIDTH - 288).attr('dy', '.35em');
  text.append('tspan').text(`${ratioText(ratio)} `);
  text.append('tspan').attr('class', kind).text(`${mark} ${word}`);
}

// Every iteration, one run's together.
function drawIterations(box, data) {
  const dots = [];
  const runs = [];
  const spans = [];
  let at = 0;
  data.sides.forEach((side, s) => {
    const from = at;
    for (const run of side.runs.filter((one) => one.step_seconds.length)) {
      runs.push([at, at + run.step_seconds.length]);
      run.step_seconds.forEach((seconds, i) => dots.push({ s, side: side.label, run: run.path, iteration: i + 1, seconds, at: at + i + 0.5 }));
      at += run.step_seconds.length + 0.6;
    }
    // A side without any has a place too.
    if (at === from) at += 2;
    spans.push({ label: side.label, s, from, to: at - 0.6 });
    at += 0.6;
  });
  if (dots.length === 0) return 'No run has a step time of an iteration.';
  const [left, bottom] = [84, 270];
  const [least, most] = d3.extent(dots, (d) => d.seconds);
  const y = d3.scaleLinear().domain([least - (most - least || least) * 0.06, most + (most - least || most) * 0.06]).nice().range([bottom, 24]);
  const svg = figure(box, { title: 'Step time of every iteration', height: bottom + 44,
    text: `A band is a run, its iterations from left to right; the line is the side's median.${y.domain()[0] > 0 ? ' The axis does not begin at 0.' : ''}`,
    columns: [textColumn('side', (d) => d.side), textColumn('run', (d) => d.run), column('iteration', (d) => count(d.iteration)),
      column('step', (d) => metricText('seconds')(d.seconds))], rows: dots });
  const x = d3.scaleLinear().domain([0, at - 1.2]).range([left + 6, WIDTH - 24]);
  yAxis(svg, y, left, WIDTH - 24, metricText('seconds'), 'step time');
  svg.selectAll('rect').data(runs).enter().append('rect').attr('class', 'iteration').attr('x', ([from]) => x(from)).attr('y', 24)
    .attr('width', ([from, to]) => x(to) - x(from)).attr('height', bottom - 24).style('fill-opacity', 0.6);
  for (const span of spans) drawSpan(svg, span, [x, y, bottom], rowNamed(data, 'time'));
  withTip(svg.selectAll('path.point').data(dots).enter().append('path').attr('class', 'point')
    .attr('d', (d) => d3.symbol().type(SYMBOLS[d.s % SYMBOLS.length]).size(dots.length > 200 ? 22 : 48)())
    .attr('transform', (d) => `translate(${x(d.at)},${y(d.seconds)})`).style('fill', (d) => colour(d.s)),
  (d) => `${d.side}\n${d.run}, iteration ${d.iteration}: ${metricText('seconds')(d.seconds)}`);
  return undefined;
}
function drawSpan(svg, span, [x, y, bottom], time) {
  const [from, to] = [x(span.from), x(span.to)];
  const median = time ? time.cells[span.s].value : null;
  if (known(median)) stroke(svg, 'mark', [from, y(median)], [to, y(median)]);
  const letters = Math.max(6, Math.floor((to - from) / 7));
  wrapped(span.label, letters).slice(0, 2).forEach((text, i) => svg.append('text').attr('x', (from + to) / 2).attr('y', bottom + 18 + 15 * i)
    .attr('text-anchor', 'middle').text(shortened(text, letters)));
}

// One bar a side for each row of a group.
function sideBars(box, data, group, { title, text, paint }) {
  const rows = rowsOf(data, group);
  if (rows.length === 0) return;
  const bar = (row, cell, s) => ({ name: known(cell.value) ? data.sides[s].label : `${shortened(data.sides[s].label, 17)}: ${UNKNOWN}`, pale: s === 0,
    low: cell.least, high: cell.most, parts: known(cell.value) ? [{ name: cell.modelled ? 'modelled' : 'median', value: cell.value, colour: paint(row),
      more: [rangeText(row, cell), s > 0 ? relationText(row, cell) : ''].filter(Boolean).join('\n') }] : [] });
  stackedBars(box, rows.map((row) => ({ name: row.label, bars: row.cells.map((cell, s) => bar(row, cell, s)) })), {
    title: [title, modelledText(rows.flatMap((row) => row.cells))].filter(Boolean).join(', '), text: `${text} Paler: ${data.sides[0].label}. Whiskers: least to most.`, format: metricText(rows[0].unit),
    columns: [textColumn(group.split(' ')[0], (row) => row.label), ...valueColumns(data)], rows });
}
function drawParts(box, data) {
  sideBars(box, data, 'class', { title: 'By class', text: 'Time in operations of a class, one pass over the trace, sum of all ranks.', paint: (row) => classColour(row.label) });
  sideBars(box, data, 'phase', { title: 'By phase', text: 'Time in operations of a phase, one pass over the trace, sum of all ranks.', paint: () => 'var(--c5)' });
  return box.children.length ? undefined : 'No side has times of classes or phases.';
}
function drawEnergyParts(box, data) {
  const text = 'Energy of one step: at each instant the operations then running share the power of their device\'s meters equally.';
  sideBars(box, data, 'class energy', { title: 'By class', text, paint: (row) => classColour(row.label) });
  sideBars(box, data, 'phase energy', { title: 'By phase', text, paint: () => 'var(--c5)' });
  return box.children.length ? undefined : 'No energy by class or phase: no source measured it on any side, or there are too few samples.';
}

function drawDifferences(box, data) {
  const format = (seconds) => signed(metricText('seconds')(seconds), seconds);
  if (data.differences.every((difference) => !difference || difference.rows.length === 0)) return 'Nothing is known to differ.';
  data.differences.forEach((difference, i) => {
    const [first, label] = [data.sides[0].label, data.sides[i + 1].label];
    if (!difference || difference.rows.length === 0) {
      box.append(note(`${label}: nothing is known to differ from ${first}.`));
      return;
    }
    const path = difference.of === 'critical path';
    const share = (seconds) => (difference.base_seconds > 0 ? error(seconds / difference.base_seconds) : UNKNOWN);
    stackedBars(box, difference.rows.map((row) => ({ name: row.name, bars: [{ parts: [{ name: 'difference', value: row.seconds, colour: classColour(row.name),
      more: difference.seconds ? `${percent(row.seconds / difference.seconds)} of the difference` : '' }] }] })), {
      title: `${label} against ${first}: ${format(difference.seconds)} of ${metricText('seconds')(difference.base_seconds)} (${difference.of})`,
      text: path ? 'Along the chain of operations that the end of one pass follows from: parts add up. Those that shorten it point left.' :
        'Time of all ranks\' operations in one pass: operations that run side by side both count, so this is not the difference of the step.',
      format, columns: [textColumn('part', (row) => row.name), column('difference', (row) => format(row.seconds)),
        column('share', (row) => (difference.seconds ? percent(row.seconds / difference.seconds) : UNKNOWN)),
        column(`of ${heads(data)[0]}'s whole`, (row) => share(row.seconds))], rows: difference.rows });
  });
  return undefined;
}

function drawTransfers(box, data) {
  const rows = data.collectives;
  if (rows.length === 0) return 'No side has transfers whose time was measured.';
  const kinds = [...new Set(rows.map((row) => row.name))];
  const name = (row) => `${row.name}, ${plural(row.group_size, 'rank')}`;
  const points = rows.flatMap((row) => row.cells.map((cell, s) => ({ row, cell, s })))
    .filter(({ row, cell }) => cell && cell.busbw_gb_per_s > 0 && row.bytes > 0);
  const columns = [textColumn('transfer', name), column('bytes', (row) => byteText(row.bytes)), ...heads(data).flatMap((head, s) => {
    const of = (text) => (row) => (row.cells[s] ? text(row.cells[s]) : UNKNOWN);
    return [column(`${head}: time`, of((cell) => metricText('seconds')(cell.seconds))), column('busbw GB/s', of((cell) => number(cell.busbw_gb_per_s))),
      ...(s === 0 ? [] : [column('time, ratio', of((cell) => ratioText(cell.ratio)))])];
  })];
  box.append(note('Time: median of one transfer, from the last arrival to the last end. Bus bandwidth as nccl-tests defines it, comparable between group sizes.'));
  if (points.length) {
    logScatter(box, points.map(({ row, cell, s }) => ({ x: row.bytes, y: cell.busbw_gb_per_s, colour: colour(kinds.indexOf(row.name)), symbol: s,
      tip: `${data.sides[s].label}\n${name(row)}, ${byteText(row.bytes)}\nbusbw ${number(cell.busbw_gb_per_s)} GB/s, ${metricText('seconds')(cell.seconds)}` +
        (s > 0 && cell.ratio ? `\ntime ${ratioText(cell.ratio)}` : '') })), {
      title: 'busbw against message size', xLabel: 'message, bytes', yLabel: 'busbw, GB/s', xBase: 2, xText: byteText, yText: number,
      text: `Colour: kind; shape: side${data.sides.length > SYMBOLS.length ? ' (there are more sides than shapes: hover for their names)' : ''}.`,
      items: [...kinds.map((kind, i) => ({ name: kind, colour: colour(i) })), ...sideItems(data).map((item) => ({ name: item.name, colour: 'none' }))] });
  }
  box.append(element('h3', {}, 'By kind and size'), table(columns, rows));
  return undefined;
}

function drawSettingsThatDiffer(box, data) {
  if (data.settings.length === 0) return 'No setting differs between the sides (of each side the first run).';
  box.append(table([textColumn('setting', (r) => r.name), ...heads(data).map((head, s) => textColumn(head, (r) => String(r.values[s] || UNKNOWN)))], data.settings));
  return undefined;
}

const COMPARE_SECTIONS = [
  { id: 'verdict', title: 'Verdict', draw: drawVerdict },
  { id: 'summary', title: 'Summary', draw: drawSummaryTable },
  { id: 'ratios', title: 'Ratios', draw: drawRatios },
  { id: 'steps', title: 'Steps', draw: drawIterations },
  { id: 'differences', title: 'What the difference is made of', draw: drawDifferences },
  { id: 'parts', title: 'Time by class and phase', draw: drawParts },
  { id: 'energy', title: 'Energy by class and phase', draw: drawEnergyParts },
  { id: 'collectives', title: 'Transfers', draw: drawTransfers },
  ...OPERATION_SECTIONS,
  { id: 'settings', title: 'Settings that differ', draw: drawSettingsThatDiffer },
  { id: 'runs', title: 'Runs', draw: drawRuns },
];
