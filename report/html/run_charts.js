// What the run is: summary, bandwidth, roofline, heat maps, settings and notes.
const isMonitor = (report) => (report.run.options || {}).mode === 'monitor';

function energyCards(report) {
  const { attribution } = report;
  if (!known(report.energy_joules)) return [card('Energy', 'unknown', 'no source, or too few samples')];
  const per = (amount, name) => (attribution && amount && known(amount.per_joule) ?
    card(`${name} per joule`, number(amount.per_joule), `${number(amount.per_step)} a step; ${amount.from}`) : null);
  const step = attribution && !isMonitor(report) && attribution.step_joules;
  return [card('Energy', joules(report.energy_joules), `over ${duration(report.measured_ns)}; source: ${report.energy_source}`),
    card('Mean power', watts(report.mean_watts), report.energy_source),
    step ? card('Energy of a step', `${joules(step.median)}`, `± ${joules(step.half_range)} (half the range of ${plural(step.iterations, 'iteration')})`) : null,
    attribution ? per(attribution.tokens, 'Tokens') : null, attribution ? per(attribution.samples, 'Samples') : null];
}

function drawMonitored(box, data) {
  const { report } = data;
  box.append(note('This run watched a program (reprise monitor). Nothing was replayed, so coverage and fidelity mean nothing here.'),
    element('p', {}, `Monitored: ${shortened(report.run.options.monitored || report.run.command, 400)}`),
    cards(card('Measured time', duration(report.measured_ns)),
      card('Processes', count(report.run.world_size), `on ${plural(new Set(report.ranks.map((r) => r.host)).size, 'host')}`),
      ...energyCards(report)));
}

// A replay on another machine than the recorded one has no error: verdict.h.
const isError = (report) => report.verdict.is_error;
const isFolded = (report) => report.ranks.some(isClass);
const classCount = (report) => `${count(report.ranks.length)} ${report.ranks.length === 1 ? 'class' : 'classes'}`;
// Of `reprise simulate`: nothing was replayed.
const isPrediction = (report) => (report.run.options || {}).mode === 'simulate';
// A trace set itself.
const isRecording = (report) => (report.run.options || {}).mode === 'recorded';
const ratioName = (report) => (isError(report) ? 'error' : 'ratio');
const ratioText = (report, relation) => (isError(report) ? error(relation) : known(relation) ? number(1 + relation) : UNKNOWN);
const ratioColumn = (report) => column(ratioName(report), (r) => ratioText(report, relative(r.replayed_ns, r.recorded_ns)));

// Of predictions: where a row's time comes from, the largest share first.
function sourceColumns(report) {
  const text = (from) => {
    const all = d3.sum(Object.values(from || {}));
    return Object.entries(from || {}).sort((a, b) => b[1] - a[1]).map(([name, ns]) => (ns === all ? name : `${name} ${percent(ns / all)}`)).join(', ');
  };
  return isPrediction(report) ? [textColumn('times from', (r) => text(r.time_from_ns) || UNKNOWN)] : [];
}

function ratioCards(report) {
  const { fidelity } = report;
  const untraced = known(fidelity.untraced_error);
  const name = isError(report) ? 'Error' : worded('Replayed / recorded');
  return [
    card(`${name}, step`, ratioText(report, untraced ? fidelity.untraced_error : fidelity.step_error),
      untraced ? `against the untraced step; ${ratioText(report, fidelity.step_error)} against the traced one` : 'with tracing in the recorded step'),
    card(`${name}, operations`, ratioText(report, known(fidelity.untraced_work_error) ? fidelity.untraced_work_error : fidelity.work_error),
      known(fidelity.untraced_work_error) ? `what tracing took deducted (estimated); ${ratioText(report, fidelity.work_error)} with it` : 'with what tracing took'),
  ];
}

// Each of the recorded steps' time once: [name, share, colour]; only real may be nothing.
function coverageParts({ coverage }) {
  return [['real', coverage.real, 'var(--c4)'], ['surrogate', coverage.surrogate, 'var(--c3)'],
    ['timed', coverage.timed - coverage.compiled, 'var(--c9)'], ['timed: compiled code', coverage.compiled, 'var(--c2)'],
    ['skipped', coverage.skipped, 'var(--c7)'], ['pause: waiting', coverage.waiting, 'var(--c13)'],
    ['pause: host work', coverage.host, 'var(--c15)']].filter(([name, share]) => name === 'real' || share >= 0.0005);
}

function drawCoverage(box, report) {
  const parts = coverageParts(report);
  const whole = report.coverage_basis === 'time' ? 'the step' : `the ${report.coverage_basis === 'flops' ? 'FLOPs' : report.coverage_basis}`;
  stackedBars(box, [{ name: 'coverage', bars: [{ parts: parts.map(([name, value, paint]) => ({ name, value, colour: paint })) }] }], {
    title: `Coverage: real ${percent(report.coverage.real)} of ${whole}`,
    text: report.coverage_basis === 'time' ? 'Every nanosecond of the recorded steps, all ranks. What runs beside something else counts once, the first of these.' :
      'Of operations and transfers, all ranks: no times are recorded.',
    format: percent, items: parts.map(([name, , paint]) => ({ name, colour: paint })),
  });
}

// In place of a replay's coverage: how the times of a prediction were found.
function drawSources(box, report) {
  const sides = Object.entries(report.time_from_ns).filter((side) => side[1]);
  if (sides.length === 0) return;
  const names = [...new Set(sides.flatMap((side) => Object.keys(side[1])))];
  const paint = (name) => colour(names.indexOf(name));
  stackedBars(box, sides.map(([name, of]) => ({ name, bars: [{ parts: Object.entries(of).map(([source, ns]) => ({ name: source,
    value: ns / d3.sum(Object.values(of)), colour: paint(source), more: duration(ns) })) }] })), {
    title: 'How times were found', text: 'Shares of the modelled time of all ranks. What each source means: docs/simulation.md.',
    format: percent, items: names.map((name) => ({ name, colour: paint(name) })),
  });
}

// What a reader of a prediction asked: how fast, how much of the peak, whether it fits, how much power.
function predictionCards(report) {
  const { options } = report.run;
  const devices = report.total_ranks;
  const seconds = report.step_time_replayed_ns * 1e-9;
  const made = options.tokens || options.samples;
  const rate = made / seconds;
  const [peak, memory] = [Number(options.memory_peak_bytes), Number(options.memory_bytes)];
  const left = memory - peak;
  const step = report.attribution && report.attribution.step_joules;
  return [
    card('Step', duration(report.step_time_replayed_ns), `${report.run.trace_name} on ${options.machine}, modelled`),
    made && seconds > 0 ? card('Throughput', `${number(rate)} ${options.tokens ? 'tokens' : 'samples'}/s`, `${number(rate / devices)} a device`) : null,
    options.mfu ? card('MFU', percent(Number(options.mfu)), 'model FLOPs of the devices\' peak') : null,
    options.memory_bytes ? card('Memory', left < 0 ? 'does not fit' : 'fits',
      `${byteText(peak)} of ${byteText(memory)} at the peak, ${byteText(Math.abs(left))} ${left < 0 ? 'too much' : 'left'}`) : null,
    known(report.mean_watts) && report.mean_watts > 0 ? card('Power of a device', watts(report.mean_watts / devices),
      `modelled; all ${watts(report.mean_watts)}${step ? `, ${joules(step.median)} a step` : ''}`) : null,
    card('Devices', count(devices), isFolded(report) ? `in ${classCount(report)} of equal ones` : 'simulated'),
  ];
}

function drawReplaySummary(box, data) {
  const { report } = data;
  const { fidelity } = report;
  if (isPrediction(report) && !report.recorded) {
    box.append(cards(...predictionCards(report)));
    drawSources(box, report);
    return;
  }
  if (isPrediction(report)) drawSources(box, report);
  else if (!isRecording(report)) drawCoverage(box, report);
  const hosts = Math.max(1, new Set(report.ranks.map((r) => r.host)).size);
  box.append(cards(
    report.recorded ? card('Step, recorded', duration(report.step_time_recorded_ns), known(report.step_time_untraced_ns) ?
      `${duration(report.step_time_untraced_ns)} without tracing` : 'untraced step unknown') :
      isRecording(report) ? null : card('Step, recorded', 'none', 'no times were recorded'),
    card(worded('Step, replayed'), duration(report.step_time_replayed_ns), report.iterations > 1 ?
      `median of ${plural(report.iterations, 'iteration')}, ${duration(report.step_time_replayed_min_ns)} to ${duration(report.step_time_replayed_max_ns)}` : ''),
    ...(report.recorded ? ratioCards(report) : []),
    card('Ranks', count(report.total_ranks), isFolded(report) ? `in ${classCount(report)} of equal ones` :
      wording.replayed === 'modelled' ? 'simulated' : `on ${plural(hosts, 'host')}`),
    ...((isPrediction(report) || isRecording(report)) && !known(report.energy_joules) ? [] : energyCards(report))));
  if (report.recorded && fidelity.difference_unknown_because) {
    box.append(note(`No attribution of the difference: ${fidelity.difference_unknown_because}`));
  }
}

function drawSummary(box, data) {
  if (data.report.verdict.caution) box.append(warning(data.report.verdict.caution));
  box.append(element('p', { class: 'verdict' }, data.report.verdict.text));
  for (const text of data.report.verdict.warnings) box.append(warning(text));
  if (isMonitor(data.report)) drawMonitored(box, data);
  else drawReplaySummary(box, data);
}

function drawBusbw(box, data) {
  const rows = data.report.collectives;
  const measured = rows.filter((row) => row.busbw_gb_per_s > 0 && row.bytes > 0);
  if (measured.length === 0) {
    return rows.length === 0 ? 'No transfers.' : 'Transfers were not measured in this run (only waited for, or not finished): no bandwidth.';
  }
  const kinds = [...new Set(measured.map((row) => row.name))];
  const groupNames = [...new Set(measured.map((row) => row.group))];
  const shapes = groupNames.length > SYMBOLS.length ? [] :
    groupNames.map((name, i) => ({ name: `${SYMBOL_TEXTS[i]} group ${name || '(default)'}`, colour: 'none' }));
  box.append(note('Bus bandwidth as nccl-tests defines it: comparable between group sizes and with a link\'s peak. Colour: kind; shape: group' +
    (shapes.length ? '. ' : ' (there are more groups than shapes: hover for their names). ') +
    (wording.replayed === 'modelled' ? 'Modelled, from the last arrival to the last end.' : 'Timed from the last arrival to the last end. Staged transports are no NVLink.')));
  logScatter(box, measured.map((row) => ({
    x: row.bytes, y: row.busbw_gb_per_s, colour: colour(kinds.indexOf(row.name)), symbol: groupNames.indexOf(row.group),
    tip: `${row.name}, group ${row.group || '(default)'} of ${row.group_size}\n${byteText(row.bytes)}, ${plural(row.count, 'transfer')}\n` +
      `busbw ${number(row.busbw_gb_per_s)} GB/s, algbw ${number(row.algbw_gb_per_s)} GB/s\n${duration(row.replayed_ns)} (recorded ${duration(row.recorded_ns)})`,
  })), {
    title: 'busbw against message size', xLabel: 'message, bytes', yLabel: 'busbw, GB/s', xBase: 2, xText: byteText, yText: number,
    items: [...kinds.map((name, i) => ({ name, colour: colour(i) })), ...shapes],
    columns: [textColumn('collective', (r) => r.name), textColumn('group', (r) => r.group), column('ranks', (r) => count(r.group_size)),
      column('bytes', (r) => byteText(r.bytes)), column('count', (r) => count(r.count)),
      ...(isPrediction(data.report) ? [] : [textColumn('mode', (r) => r.mode)]), column('recorded', (r) => duration(r.recorded_ns)), column('replayed', (r) => duration(r.replayed_ns)),
      column('algbw GB/s', (r) => number(r.algbw_gb_per_s)), column('busbw GB/s', (r) => number(r.busbw_gb_per_s)),
      ...(isPrediction(data.report) ? [] : [textColumn('clock', (r) => r.clock)])],
    rows,
  });
  return undefined;
}

function drawRoofline(box, data, filters) {
  const rows = data.report.classes.filter((row) => matches(filters.class, row.name));
  const points = rows.filter((row) => row.gflop_per_s > 0 && row.flops > 0 && row.bytes > 0);
  if (points.length === 0) return 'No class of operations with known FLOPs and bytes was measured.';
  const limits = data.report.device_limits;
  box.append(note(worded('Each class as replayed: what it computes per byte that it must move, and how fast. ') + (limits.length === 0 ?
    'This run holds no measured limits of its device, so no roof is drawn.' :
    'The roof is what the device did just before the run, with it to one rank alone: a float32 GEMM (level) and a copy (slope). ' +
    'Ranks that share a device have less of it; lower precision, and caches, may pass it.')));
  logScatter(box, points.map((row) => ({ x: row.flops / row.bytes, y: row.gflop_per_s, colour: classColour(row.name), label: row.name,
    tip: `${row.name}\n${number(row.flops / row.bytes)} FLOP/byte\n${number(row.gflop_per_s)} GFLOP/s, ${number(row.gb_per_s)} GB/s` })), {
    roofs: limits.map((limit, i) => ({ slope: limit.gb_per_s, level: limit.gflop_per_s, colour: limits.length > 1 ? colour(i) : 'var(--quiet)',
      tip: `${limit.device}\n${number(limit.gflop_per_s)} GFLOP/s, ${number(limit.gb_per_s)} GB/s\nmeasured before the run` })),
    title: 'Operational intensity and speed by class', xLabel: 'FLOP per byte', yLabel: 'GFLOP/s', xText: number, yText: number,
    columns: [textColumn('class', (r) => r.name), column('count', (r) => count(r.count)), column('FLOP', (r) => number(r.flops)),
      column('bytes', (r) => byteText(r.bytes)), column('FLOP/byte', (r) => number(r.bytes > 0 ? r.flops / r.bytes : null)),
      column('GFLOP/s', (r) => number(r.gflop_per_s)), column('GB/s', (r) => number(r.gb_per_s)),
      column('recorded', (r) => duration(r.recorded_ns)), column('replayed', (r) => duration(r.replayed_ns)), ...sourceColumns(data.report)],
    rows,
  });
  return undefined;
}

// Columns of the heat map that every run may have: [name, format, rank → value].
function rankColumns(data) {
  const { report } = data;
  const straggler = new Map(data.stragglers.map((row) => [row.rank, row]));
  const exposed = d3.nest().key((r) => r.rank).rollup((list) => d3.sum(list, (r) => r.replayed_exposed_ns))
    .map(report.fidelity.overlap);
  const energy = new Map(((report.attribution || {}).ranks || []).map((row) => [row.name, row.joules]));
  const alike = (rank) => rank.alike || 1;
  const of = (map, rank, field) => (map.has(rank) ? map.get(rank)[field] : null);
  return [
    ['step recorded', duration, (r) => r.step_time_recorded_ns], 
    [isMonitor(report) ? 'measured time' : 'step replayed', duration, (r) => r.step_time_replayed_ns],
    ['step error', error, (r) => relative(r.step_time_replayed_ns, r.step_time_recorded_ns)],
    ['real, of the step', percent, (r) => (r.covered_ns > 0 ? r.coverage.real : null)],
    ['host time recorded', duration, (r) => (r.nodes > 0 ? r.host_ns : null)],
    ['waits recorded', duration, (r) => (r.nodes > 0 ? r.wait_ns : null)],
    ['gaps recorded', duration, (r) => (r.nodes > 0 ? r.delay_ns : null)],
    ['exposed comm replayed', duration, (r) => exposed.get(r.rank)],
    ['waited for others', duration, (r) => of(straggler, r.rank, 'replayed_waited_ns')],
    ['kept others waiting', duration, (r) => (isFolded(report) ? null : of(straggler, r.rank, 'caused_ns'))],
    [`energy${report.attribution && report.attribution.modelled ? ' (modelled)' : ''}`, joules,
      (r) => (energy.has(String(r.rank)) ? energy.get(String(r.rank)) / alike(r) : null)],
  ];
}

// And one for each metric of the devices on which ranks compute.
function deviceColumns(data) {
  const metrics = new Map();
  for (const series of data.telemetry.flatMap((host) => host.series)) {
    for (const rank of series.ranks) {
      const name = `${series.metric.replace(/_/g, ' ')} mean${series.modelled ? ' (modelled)' : ''}`;
      if (!metrics.has(name)) metrics.set(name, { unit: series.unit, values: new Map() });
      metrics.get(name).values.set(rank, series.mean);
    }
  }
  return [...metrics].map(([name, metric]) => [name, metricText(metric.unit), (r) => metric.values.get(r.rank)]);
}

function drawHeatMap(box, data, filters) {
  const ranks = byRank(data.report.ranks, filters);
  // A column in which all ranks are alike shows nothing.
  const differs = (c) => new Set(ranks.map(c[2]).filter(known)).size > (ranks.length > 1 ? 1 : 0);
  const columns = [...rankColumns(data), ...deviceColumns(data)].filter((c) => isShownTime(c[0])).filter(differs).slice(0, 16);
  if (ranks.length === 0 || columns.length === 0) return 'Nothing is known of single ranks in which they differ.';
  box.append(note('Each column has its own scale, from its least (pale) to its most (strong): look for rows and single cells that stand out. ' +
    'Means over the measured time. Columns in which all ranks are alike are left out.'));
  heatMap(box, ranks, columns.map(([name, text, value]) => ({ name, text, value, range: d3.extent(ranks.map(value).filter(known)) })),
    { title: 'Ranks × metrics' });
  return undefined;
}

function drawTopDifferences(box, data, filters) {
  const rows = data.report.fidelity.offenders.filter((row) => matches(filters.class, row.class));
  if (rows.length === 0) return 'No operation was measured.';
  const { nodes } = data.report.fidelity;
  box.append(note(worded('The operations whose replayed time differs most from the recorded one.') + (nodes ?
    ` Of ${count(nodes.count)} nodes, ${percent(nodes.within_tenth)} of the recorded time is replayed within 10 %.` : '')));
  box.append(table([textColumn('operation', (r) => shortened(r.name, 80)), textColumn('class', (r) => r.class), textColumn('kernel', (r) => shortened(r.kernel, 80)),
    column('count', (r) => count(r.count)), column('recorded', (r) => duration(r.recorded_ns)), column('replayed', (r) => duration(r.replayed_ns)),
    ratioColumn(data.report), textColumn('likely cause', (r) => r.likely_cause)], rows));
  return undefined;
}

function drawShapes(box, data, filters) {
  const rows = data.report.shapes.filter((row) => matches(filters.class, row.class));
  if (rows.length === 0) return 'No operation was measured.';
  box.append(note('The calls of each operation, by the shapes of its inputs; the ' +
    `${wording.recorded ? 'largest difference' : 'longest'} comes first. All ranks, one pass.`));
  box.append(table([textColumn('operation', (r) => shortened(r.name, 80)), textColumn('class', (r) => r.class),
    textColumn('shapes of inputs', (r) => shortened(r.shape, 100) || UNKNOWN), column('count', (r) => count(r.count)),
    column('recorded', (r) => duration(r.recorded_ns)), column('replayed', (r) => duration(r.replayed_ns)), ratioColumn(data.report),
    ...sourceColumns(data.report)], rows.slice(0, 100)));
  return undefined;
}

function pairs(title, object) {
  const rows = Object.entries(object || {}).filter(([, value]) => value !== '');
  if (rows.length === 0) return null;
  return element('div', {}, element('h3', {}, title),
    table([textColumn('name', (r) => r[0]), textColumn('value', (r) => String(r[1]))], rows));
}

function drawSettings(box, data) {
  const { run, ranks } = data.report;
  const { options, versions, ...facts } = run;
  box.append(pairs('Run', facts), pairs('Options', options) || '', pairs('Versions', versions) || '', element('h3', {}, isFolded(data.report) ? 'Classes of equal ranks' : 'Ranks'),
    table([...rankColumnsOf(ranks),
      column('nodes', (r) => count(r.nodes)), column('iterations', (r) => count(r.iterations)),
      ...(isPrediction(data.report) ? [] : [column('clock uncertainty', (r) => duration(r.clock_uncertainty_ns))])], ranks));
}

function drawNotes(box, data) {
  const { notes, diagnostics } = data.report;
  const left = Object.entries(data.left_out);
  if (notes.length === 0 && Object.keys(diagnostics).length === 0 && left.length === 0) return 'Nothing to note.';
  if (notes.length) box.append(element('ul', {}, ...notes.map((text) => element('li', {}, text))));
  box.append(pairs('Counted', diagnostics) || '');
  box.append(pairs('Left out of this page, which is bounded (--json has all)', data.left_out) || '');
  return undefined;
}

const FIRST_SECTIONS = [{ id: 'summary', title: 'Summary', uses: [], draw: drawSummary }];
const RUN_SECTIONS = [
  { id: 'busbw', title: 'Bandwidth of transfers', uses: [], draw: drawBusbw, left_out: ['collectives'] },
  { id: 'roofline', title: 'Roofline by class', uses: ['class'], draw: drawRoofline },
  { id: 'offenders', title: 'Operations that differ most', uses: ['class'], draw: drawTopDifferences },
  { id: 'shapes', title: 'Operations by shape', uses: ['class'], draw: drawShapes, left_out: ['shapes'] },
  { id: 'heat-map', title: 'Heat map of ranks', uses: ['rank'], draw: drawHeatMap, left_out: ['ranks'] },
];
const LAST_SECTIONS = [
  { id: 'settings', title: 'Settings and provenance', uses: [], draw: drawSettings, left_out: ['ranks'] },
  { id: 'notes', title: 'Notes and counters', uses: [], draw: drawNotes, left_out: ['notes'] },
];
