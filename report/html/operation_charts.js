// Operations side by side: what differs, in which operations, and what ran when; and the ranks of a side.
const ratioOf = (a, b) => (a > 0 && b > 0 ? `${(b / a).toFixed(2)}×` : UNKNOWN);
const slower = (ns) => (ns > 0 ? 'var(--bad)' : 'var(--good)');

// Of sums over ranks and steps, the mean of one step on a rank.
function oneStep(of) {
  const passes = Math.max(1, of.ranks.length * of.totals.a.steps);
  const sum = (side) => ({ ...side, ns: side.ns / passes });
  const rows = (list) => list.map((row) => ({ ...row, a: sum(row.a), b: sum(row.b), difference_ns: row.difference_ns / passes }));
  const total = (side) => ({ ...side, activity: Object.fromEntries(Object.entries(side.activity).map(([key, value]) => [key, value / passes])) });
  return { ...of, classes: rows(of.classes), operations: rows(of.operations), shapes: rows(of.shapes), phases: rows(of.phases),
    totals: { ...of.totals, a: total(of.totals.a), b: total(of.totals.b) } };
}

// Draws the alignment of each side with the first; returns why there is none.
function eachAlignment(box, data, draw) {
  if (data.alignments.length === 0) return 'Operations are aligned where two sides are compared and one of them is a trace set.';
  data.alignments.map(oneStep).forEach((alignment, i) => {
    const place = data.alignments.length > 1 ? element('div', {}, element('h3', {}, `${labels(data)[i + 1]} against ${labels(data)[0]}`)) : box;
    draw(place, alignment, labels(data)[0], labels(data)[i + 1], i + 1);
    if (place !== box) box.append(place);
  });
  return undefined;
}

// How much of both sides is compared.
function drawAligned(box, data) {
  return eachAlignment(box, data, (place, of, a, b, s) => {
    for (const text of of.notes) place.append(warning(text));
    const share = (side) => percent(side.share);
    const rank = (index) => data.sides[index].ranks[0] || {};
    place.append(cards(
      card(`aligned operations of ${a}`, share(of.aligned.a), `${count(of.aligned.a.aligned)} of ${count(of.aligned.a.operations)}`),
      card(`aligned operations of ${b}`, share(of.aligned.b), `${count(of.aligned.b.aligned)} of ${count(of.aligned.b.operations)}`),
      card(`step of ${a}`, duration(of.totals.a.step_ns), rank(0).device || rank(0).processor || 'unknown device'),
      card(`step of ${b}`, duration(of.totals.b.step_ns), rank(s).device || rank(s).processor || 'unknown device')));
  });
}

const sumColumns = (a, b) => [column('count', (row) => count(Math.max(row.a.count, row.b.count))),
  column(shortened(a, 20), (row) => duration(row.a.ns)), column(shortened(b, 20), (row) => duration(row.b.ns)),
  column('ratio', (row) => ratioOf(row.a.ns, row.b.ns)), column('difference', (row) => signedDuration(row.difference_ns)),
  column('without counterpart', (row) => `${count(row.a.alone_count)} / ${count(row.b.alone_count)}`)];

function divergingBars(place, rows, title, first, a, b) {
  const shown = rows.filter((row) => row.difference_ns !== 0).slice(0, MOST_DIFFERENCE_BARS);
  if (shown.length === 0) {
    place.append(note(`${title}: no difference.`));
    return;
  }
  stackedBars(place, shown.map((row) => ({ name: first.text(row), bars: [{ parts: [{ name: 'difference', value: row.difference_ns,
    colour: slower(row.difference_ns), more: `${duration(row.a.ns)} to ${duration(row.b.ns)}, ${ratioOf(row.a.ns, row.b.ns)}` }] }] })), {
    title, text: `One step on a rank, the mean; counts are of all. Bars to the right: ${b} takes longer than ${a}.${rows.length > shown.length ? ' The largest differences; the table has all.' : ''}`,
    format: signedDuration, columns: [first, ...sumColumns(a, b)], rows,
  });
}
const MOST_DIFFERENCE_BARS = 20;

function drawAlignedClasses(box, data) {
  return eachAlignment(box, data, (place, of, a, b) => {
    divergingBars(place, of.classes, 'Time by class', textColumn('class', (row) => row.name), a, b);
  });
}
function drawAlignedOperations(box, data) {
  return eachAlignment(box, data, (place, of, a, b) => {
    divergingBars(place, of.operations, 'Time by operation', textColumn('operation', (row) => row.name), a, b);
    divergingBars(place, of.shapes, 'Time by operation and shapes', textColumn('operation, shapes', (row) => `${row.name} ${row.shapes}`), a, b);
  });
}

const ACTIVITY_PARTS = [['busy_ns', 'operations ran', 'var(--c0)'], ['launch_wait_ns', 'waiting for launches', 'var(--c2)'],
  ['latency_ns', 'from launch to start', 'var(--c4)'], ['other_idle_ns', 'other idle time', 'var(--c15)']];
function drawActivity(box, data) {
  const why = eachAlignment(box, data, (place, of, a, b) => {
    const bar = (activity) => [{ parts: ACTIVITY_PARTS.map(([key, name, fill]) => ({ name, value: activity[key], colour: fill })) }];
    stackedBars(place, [{ name: a, bars: bar(of.totals.a.activity) }, { name: b, bars: bar(of.totals.b.activity) }], {
      title: 'How the steps passed', text: 'One step on a rank, the mean.', format: duration,
      items: ACTIVITY_PARTS.map(([, name, fill]) => ({ name, colour: fill })),
    });
    const transfers = [['exposed_ns', 'exposed', 'var(--c2)'], ['waited_ns', 'waiting for other ranks', 'var(--c4)']];
    if (of.totals.a.activity.transfers_ns + of.totals.b.activity.transfers_ns > 0) {
      const bars = (activity) => transfers.map(([key, name, fill]) => ({ name, parts: [{ name, value: activity[key], colour: fill }] }));
      stackedBars(place, [{ name: a, bars: bars(of.totals.a.activity) }, { name: b, bars: bars(of.totals.b.activity) }], {
        title: 'Transfers', text: 'Exposed: no operation of the rank ran meanwhile.', format: duration,
        items: transfers.map(([, name, fill]) => ({ name, colour: fill })) });
    }
  });
  if (why) return why;
  const paths = data.sides.filter((side) => side.critical_path.length > 0);
  if (paths.length > 0) {
    stackedBars(box, paths.map((side) => ({ name: side.label, bars: [{ parts: side.critical_path.map((part) => ({ name: part.name,
      value: part.ns / Math.max(1, side.ranks[0].steps), colour: classColour(part.name) })) }] })), { title: 'Critical path', text: 'Of a step, the chain of operations and delays that its end follows from.',
      format: duration, items: classItems([...new Set(paths.flatMap((side) => side.critical_path.map((part) => part.name)))]) });
  }
  return undefined;
}

function drawTimelines(box, data) {
  const lines = data.sides.filter((side) => side.timeline && side.timeline.lanes.length > 0);
  if (lines.length === 0) return 'No operations were read: runs of one trace are compared by their reports.';
  const longest = d3.max(lines, (side) => side.timeline.span_ns);
  const [left, tall] = [190, 26];
  const rows = lines.flatMap((side) => side.timeline.lanes.map((lane) => ({ side, lane })));
  const height = rows.length * (tall + 8) + 8;
  const svg = figure(box, { title: 'Timelines', height: height + 40,
    text: 'One rank of each side on one scale, by the class that ran most in each interval; blank: nothing ran.' });
  legend(svg, classItems([...new Set(rows.flatMap(({ lane }) => lane.runs.map((run) => run[2])))]));
  const x = d3.scaleLinear().domain([0, longest || 1]).range([left, WIDTH - 24]);
  xAxis(svg, x, 0, height, duration, 'since the first step began');
  rows.forEach(({ side, lane }, i) => {
    const at = 4 + i * (tall + 8);
    const wide = side.timeline.span_ns / side.timeline.bins;
    svg.append('text').attr('x', left - 8).attr('y', at + tall / 2).attr('dy', '.35em').attr('text-anchor', 'end')
      .text(shortened(`${side.label}, ${lane.name}`, 28));
    for (const [from, to, name] of lane.runs) {
      withTip(svg.append('path').attr('d', `M${x(from * wide)},${at}H${x(to * wide)}v${tall}H${x(from * wide)}Z`).style('fill', classColour(name)),
        () => `${side.label}\n${name}: ${duration(from * wide)} to ${duration(to * wide)}`);
    }
  });
  return undefined;
}

function drawShares(box, data) {
  if (data.alignments.every((of) => of.shares.length === 0)) {
    return 'The peaks of a device are not known, or no operation has FLOPs or bytes: reprise list machines has those that are known.';
  }
  return eachAlignment(box, data, (place, of, a, b) => {
    const parts = (use, fill) => [{ name: 'of the roofline', value: use.of_roofline, colour: fill,
      more: `${percent(use.of_peak_flops)} of FLOP/s, ${percent(use.of_bandwidth)} of bandwidth` }];
    stackedBars(place, of.shares.map((row) => ({ name: row.class, bars: [{ name: a, parts: parts(row.a, colour(0)) }, { name: b, parts: parts(row.b, colour(1)) }] })), {
      title: 'Achieved share of what the peaks allow', format: percent,
      text: 'The ratio of both times is the product of two: what the peaks alone would make of it, and how much less of them is reached.',
      items: [{ name: a, colour: colour(0) }, { name: b, colour: colour(1) }],
      columns: [textColumn('class', (row) => row.class), column('operations', (row) => count(row.count)),
        column(`${a}: FLOP/s`, (row) => percent(row.a.of_peak_flops)), column(`${a}: bandwidth`, (row) => percent(row.a.of_bandwidth)),
        column(`${b}: FLOP/s`, (row) => percent(row.b.of_peak_flops)), column(`${b}: bandwidth`, (row) => percent(row.b.of_bandwidth)),
        column('by the peaks', (row) => times(row.peaks_factor)), column('by their use', (row) => times(row.use_factor))],
      rows: of.shares });
  });
}

function drawPasses(box, data) {
  const sides = data.sides.filter((side) => side.ranks && side.ranks[0] && side.ranks[0].inference);
  if (sides.length === 0) return 'No decode loop was found.';
  const all = sides.map((side) => ({ side, of: side.ranks[0].inference }));
  box.append(cards(...all.flatMap(({ side, of }) => [
    card(`${side.label}: first token`, duration(of.first_token_ns), `${number(of.prefill_tokens_per_second)} tokens/s in prefill`),
    card(`${side.label}: each token`, duration(of.per_token_ns), `${number(of.decode_tokens_per_second)} tokens/s in decode; cache grows by ${byteText(of.cache_growth_bytes)}`)])));
  stackedBars(box, all.map(({ side, of }) => ({ name: side.label, bars: [{ parts: of.passes.slice(0, 500).map((pass) => ({ name: pass.kind,
    value: pass.end_ns - pass.start_ns, colour: pass.kind === 'prefill' ? 'var(--c0)' : 'var(--c1)',
    more: `${count(pass.sequences)} sequences, context of ${count(pass.context)} tokens` })) }] })), { title: 'Passes through the model', format: duration,
    items: [{ name: 'prefill', colour: 'var(--c0)' }, { name: 'decode', colour: 'var(--c1)' }] });
  return undefined;
}

// As report/compare/ranks.h has it.
const STRAGGLER_RATIO = 1.05;

// Metrics of runs, power and temperature first.
const METRIC_ORDER = ['watts', 'celsius', 'joules'];
const metricRank = (unit) => (METRIC_ORDER.includes(unit) ? METRIC_ORDER.indexOf(unit) : METRIC_ORDER.length);
const MOST_RANK_METRICS = 6;
function rankMetrics(load) {
  return [...load.metrics].sort((a, b) => metricRank(a.unit) - metricRank(b.unit)).slice(0, MOST_RANK_METRICS);
}

const RANK_PARTS = [['operations', (rank) => rank.operations_ns, 'var(--c0)'], ['exposed transfers', (rank) => rank.exposed_ns, 'var(--c2)'],
  ['rest of the step', (rank) => Math.max(0, rank.step_ns - rank.operations_ns - rank.exposed_ns), 'var(--c15)']];
const MOST_RANK_BARS = 64;
const numaText = (nodes) => (nodes === null ? [] : [`NUMA ${nodes}`]);
// What the table says of a rank's place beyond its host and slot; '' where nothing is known.
function placementText(place) {
  if (!place) return '';
  return [...(place.pci_bus_id ? [place.pci_bus_id] : []), ...(place.pcie_lanes === null ? [] : [`x${place.pcie_lanes}`]),
    ...numaText(place.device_numa_node), ...(place.links === null ? [] : [`${place.links} ${place.link_kind || 'links'}`])].join(', ');
}
// Where the load of one side's ranks is uneven, by rank, host, slot and device.
function drawRanksOf(box, side) {
  const { load } = side;
  box.append(element('p', { class: 'verdict' }, `${load.verdict}.`));
  for (const seen of load.observations) box.append(note(`Seen, not shown to be the cause: ${seen}.`));
  if (load.ranks.length < 2) return;
  const late = new Set(load.stragglers);
  const shown = [...load.ranks].sort((a, b) => b.operations_ns - a.operations_ns).slice(0, MOST_RANK_BARS).sort((a, b) => a.rank - b.rank);
  const place = (rank) => (rank.slot === null ? '' : `${shortened(rank.host, 24)}/${rank.slot}`);
  const hosts = load.ranks.some((rank) => rank.slot !== null);
  const placed = load.ranks.some((rank) => placementText(rank.placement) !== '');
  const classes = load.ranks.some(isClass);
  stackedBars(box, shown.map((rank) => ({ name: `${rankName(rank)}${late.has(rank.rank) ? ', straggler' : ''}${hosts && place(rank) ? `, ${place(rank)}` : ''}`,
    bars: [{ mark: rank.step_ns, parts: RANK_PARTS.map(([name, value, fill]) => ({ name, value: value(rank), colour: fill,
      more: `${times(rank.to_median)} the median rank's operations` })) }] })), {
    title: classes ? 'Load of classes of equal ranks' : 'Load of ranks', format: duration, label: 'of one step; the mark is the end of the step',
    text: `Most work over mean: ${percent(load.imbalance)}. Transfers are exposed where no operation of the rank ran.${load.ranks.length > shown.length ?
      ` The ${shown.length} ranks with most work; the table has all.` : ''}`,
    items: RANK_PARTS.map(([name, , fill]) => ({ name, colour: fill })),
    columns: [...(classes ? CLASS_COLUMNS.slice(0, 3) : RANK_COLUMNS.slice(0, 1)), ...(hosts ? [textColumn('host / slot', place)] : []),
      textColumn('device', (rank) => rank.device || UNKNOWN), ...(placed ? [textColumn('placement', (rank) => placementText(rank.placement) || UNKNOWN)] : []),
      column('step', (rank) => duration(rank.step_ns)), column('operations', (rank) => duration(rank.operations_ns)),
      column('to median', (rank) => times(rank.to_median)), column('idle', (rank) => duration(rank.idle_ns)),
      column('exposed', (rank) => duration(rank.exposed_ns)), column('waiting', (rank) => duration(rank.waited_ns)),
      ...rankMetrics(load).map((metric) => column(metric.name, (rank) => metricText(metric.unit)(rank.metrics[metric.name])))],
    rows: load.ranks });
  if (load.groups.length > 0) {
    stackedBars(box, load.groups.map((group) => ({ name: `${group.kind} ${group.name || 'unknown'}`, bars: [{ parts: [{ name: 'operations',
      value: group.operations_ns, colour: group.to_all > STRAGGLER_RATIO ? 'var(--bad)' : 'var(--c0)', more: `${times(group.to_all)} the mean of all ranks` }] }] })), {
      title: 'Hosts, slots and devices', text: 'Means of their ranks, of one step.', format: duration,
      columns: [textColumn('ranks by', (group) => group.kind), textColumn('', (group) => group.name || 'unknown'), column('ranks', (group) => count(group.ranks)),
        column('operations', (group) => duration(group.operations_ns)), column('to all', (group) => times(group.to_all)),
        column('waiting', (group) => duration(group.waited_ns))], rows: load.groups });
  }
  box.append(element('h3', {}, 'Classes that differ most between ranks'), table([textColumn('class', (of) => of.name), column('least', (of) => duration(of.least_ns)),
    column('mean', (of) => duration(of.mean_ns)), column('most', (of) => duration(of.most_ns)), column(classes ? 'of class of ranks' : 'of rank', (of) => String(of.most_rank))], load.classes));
}

function drawPowerPeaks(box, load) {
  if (load.power_peaks.length > 0) {
    box.append(element('h3', {}, 'Power peaks'), note('Intervals above the mean by two standard deviations, and what ran in them.'),
      table([textColumn('meter', (of) => `${of.device} ${worded(of.metric)}${of.host ? ` on ${of.host}` : ''}${of.modelled ? ' (modelled)' : ''}`),
        column('above', (of) => watts(of.threshold_watts)), column('most', (of) => watts(of.most_watts)), column('peaks', (of) => count(of.peaks)),
        column('throttled', (of) => count(of.throttled)),
        textColumn('operations', (of) => of.operations.map((one) => `${shortened(one.name, 40)} ${duration(one.ns)}`).join(', '))], load.power_peaks));
  }
}

function drawRanks(box, data) {
  const sides = data.sides.filter((side) => side.load);
  if (sides.length === 0) return 'The ranks of runs of one trace are in the report of each.';
  sides.forEach((side) => {
    if (data.sides.length > 1) box.append(element('h3', {}, side.label));
    drawRanksOf(box, side);
    drawPowerPeaks(box, side.load);
  });
  return undefined;
}

const OPERATION_SECTIONS = [
  { id: 'aligned', title: 'What is compared', draw: drawAligned },
  { id: 'classes', title: 'Classes', draw: drawAlignedClasses },
  { id: 'operations', title: 'Operations', draw: drawAlignedOperations },
  { id: 'timelines', title: 'Timelines', draw: drawTimelines },
  { id: 'activity', title: 'Busy, waiting, idle', draw: drawActivity },
  { id: 'ranks', title: 'Ranks', draw: drawRanks },
  { id: 'shares', title: 'Share of peak', draw: drawShares },
  { id: 'passes', title: 'Prefill and decode', draw: drawPasses },
];
