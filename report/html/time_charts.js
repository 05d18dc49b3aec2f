// Where the time goes: steps by class, communication, critical path, who waits for whom.
const recordedAndReplayed = () => (wording.recorded ? worded('Upper, paler bar: recorded. Lower bar: replayed.') : '');
const MOST_BARS = 24;

const matches = (wanted, value) => wanted === '' || String(value) === wanted;
const byRank = (rows, filters) => rows.filter((row) => matches(filters.rank, row.rank));

// Where there are more bars than a chart holds: the largest, and a button for all.
function largestFirst(box, rows, weight, noun, draw) {
  if (rows.length <= MOST_BARS) {
    draw(box, rows);
    return;
  }
  const largest = new Set([...rows].sort((a, b) => weight(b) - weight(a)).slice(0, MOST_BARS));
  const place = element('div');
  const button = element('button', { type: 'button' });
  let all = false;
  const redraw = () => {
    button.textContent = all ? `Show the ${MOST_BARS} largest` : `Show all ${count(rows.length)} ${noun}`;
    place.replaceChildren();
    draw(place, all ? rows : rows.filter((row) => largest.has(row)));
  };
  button.addEventListener('click', () => { all = !all; redraw(); });
  box.append(element('div', { class: 'controls' }, element('span', { class: 'note' },
    `The ${MOST_BARS} largest of ${count(rows.length)} ${noun}.`), button), place);
  redraw();
}

// Rows are [rank, step, iteration, step_ns, [class_ns]]. For each rank: the mean over its steps, of
// several iterations the median of that.
function stepMeans(rows, classes) {
  const middle = (of) => d3.median(of.map((steps) => d3.mean(steps)).filter(known));
  return d3.nest().key((row) => row[0]).sortKeys((a, b) => a - b).entries(rows).map((rank) => {
    const iterations = d3.nest().key((row) => row[2]).entries(rank.values).map((group) => group.values);
    return {
      rank: Number(rank.key),
      step: middle(iterations.map((steps) => steps.map((row) => row[3]).filter((ns) => ns > 0))),
      classes: classes.map((name, c) => ({ name, ns: middle(iterations.map((steps) => steps.map((row) => row[4][c]))) || 0 })),
    };
  });
}

function drawSteps(box, data, filters) {
  const { classes } = data.steps;
  const chosen = (rows) => rows.filter((row) => matches(filters.rank, row[0]) && matches(filters.step, row[1]) &&
    (row[2] < 0 || matches(filters.iteration, row[2])));
  const recorded = new Map(stepMeans(chosen(data.steps.recorded), classes).map((row) => [row.rank, row]));
  const replayed = new Map(stepMeans(chosen(data.steps.replayed), classes).map((row) => [row.rank, row]));
  const ranks = [...new Set([...recorded.keys(), ...replayed.keys()])].sort((a, b) => a - b);
  if (ranks.length === 0 || classes.length === 0) return 'The run holds no operations (or none that the filters let through).';
  const shown = (row) => (row ? row.classes.filter((c) => matches(filters.class, c.name)) : []);
  const info = new Map(data.report.ranks.map((row) => [row.rank, row]));
  const nameOf = (rank) => rankName(info.get(rank) || { rank });
  const alike = (rank) => (info.get(rank) || { alike: 1 }).alike;
  const weighted = (rows, value) => {
    const of = [...rows.values()].filter((row) => known(value(row)));
    return of.length ? d3.sum(of, (row) => alike(row.rank) * value(row)) / d3.sum(of, (row) => alike(row.rank)) : undefined;
  };
  const mean = (rows) => ({
    step: weighted(rows, (row) => row.step),
    classes: classes.map((name, c) => ({ name, ns: weighted(rows, (row) => row.classes[c].ns) || 0 })),
  });
  const bars = (a, b) => [['recorded', a, true], ['replayed', b, false]].filter((side) => side[1]).map(([name, row, pale]) => ({
    name, pale, mark: row.step,
    parts: shown(row).map((c) => ({ name: c.name, value: c.ns, colour: classColour(c.name),
      more: row.step ? `${percent(c.ns / row.step)} of the step's ${duration(row.step)}` : '' })),
  }));
  const total = (row) => d3.sum(shown(row), (c) => c.ns);
  const names = classes.filter((name) => matches(filters.class, name));
  const columns = [textColumn('rank', (row) => nameOf(row.rank)), textColumn('class', (row) => row.name),
    column('recorded', (row) => duration(row.recorded)), column('replayed', (row) => duration(row.replayed)),
    column(ratioName(data.report), (row) => ratioText(data.report, relative(row.replayed, row.recorded)))];
  const tableRows = (list) => list.flatMap((rank) => [{ rank, name: 'step', recorded: (recorded.get(rank) || {}).step,
    replayed: (replayed.get(rank) || {}).step }, ...names.map((name) => {
    const of = (side) => (side.has(rank) ? side.get(rank).classes[classes.indexOf(name)].ns : null);
    return { rank, name, recorded: of(recorded), replayed: of(replayed) };
  })]);
  box.append(note('Time of operations by class, one step, stacked. Streams overlap and threads pause, so a bar may be ' +
    'longer or shorter than the step, whose own time is the upright mark. Medians of iterations; means of a trace\'s steps.'));
  const items = classItems(names);
  if (ranks.length > 1) {
    const all = { name: `mean of ${plural(d3.sum(ranks, alike), 'rank')}`, bars: bars(mean(recorded), replayed.size ? mean(replayed) : null) };
    stackedBars(box, [all], { title: 'All ranks', format: duration, items });
  }
  largestFirst(box, ranks, (rank) => total(replayed.get(rank) || recorded.get(rank)), 'ranks', (place, list) =>
    stackedBars(place, list.map((rank) => ({ name: nameOf(rank), bars: bars(recorded.get(rank), replayed.get(rank)) })),
      { title: isFolded(data.report) ? 'By class of equal ranks' : 'By rank', text: recordedAndReplayed(), format: duration, columns, rows: tableRows(list), items }));
}

function drawOverlap(box, data, filters) {
  const { fidelity } = data.report;
  const rows = byRank(fidelity.overlap, filters);
  if (rows.length === 0) return fidelity.difference_unknown_because || 'No transfers.';
  const part = (whole, exposed) => [{ name: 'exposed', value: exposed, colour: 'var(--c2)',
    more: whole > 0 ? `${percent(exposed / whole)} of the time in transfers` : '' },
  { name: 'overlapped', value: whole - exposed, colour: 'var(--c9)' }];
  const bars = (list) => [
    { name: 'recorded', pale: true, parts: part(d3.sum(list, (r) => r.recorded_ns), d3.sum(list, (r) => r.recorded_exposed_ns)) },
    { name: 'replayed', parts: part(d3.sum(list, (r) => r.replayed_ns), d3.sum(list, (r) => r.replayed_exposed_ns)) }];
  box.append(note('Time in transfers of a group, from issue to end, one pass over the trace: exposed where no operation of ' +
    'the rank ran meanwhile, else overlapped.'));
  const items = [{ name: 'exposed', colour: 'var(--c2)' }, { name: 'overlapped', colour: 'var(--c9)' }];
  const groups = d3.nest().key((row) => row.group).entries(rows);
  largestFirst(box, groups, (g) => d3.sum(g.values, (r) => r.replayed_exposed_ns), 'groups', (place, list) =>
    stackedBars(place, list.map((g) => ({ name: g.key || '(default)', bars: bars(g.values) })),
      { title: filters.rank === '' ? 'By group, sum of ranks' : `By group, rank ${filters.rank}`, text: recordedAndReplayed(),
        format: duration, items }));
  const ranks = d3.nest().key((row) => row.rank).sortKeys((a, b) => a - b).entries(rows);
  const share = (exposed, whole) => (whole > 0 ? percent(exposed / whole) : UNKNOWN);
  largestFirst(box, ranks, (r) => d3.sum(r.values, (row) => row.replayed_exposed_ns), 'ranks', (place, list) =>
    stackedBars(place, list.map((r) => ({ name: nameOfRank(data.report, r.key), bars: bars(r.values) })), {
      title: isFolded(data.report) ? 'By class of equal ranks, sum of groups' : 'By rank, sum of groups', format: duration, items,
      columns: [textColumn('rank', (r) => nameOfRank(data.report, String(r.rank))), textColumn('group', (r) => r.group),
        column('recorded', (r) => duration(r.recorded_ns)), column('exposed', (r) => share(r.recorded_exposed_ns, r.recorded_ns)),
        column('replayed', (r) => duration(r.replayed_ns)), column('exposed', (r) => share(r.replayed_exposed_ns, r.replayed_ns))],
      rows,
    }));
}

function drawPath(box, data, filters) {
  const { fidelity } = data.report;
  const path = fidelity.critical_path.filter((row) => matches(filters.class, row.name));
  if (path.length === 0) return fidelity.difference_unknown_because || 'No critical path (of this class).';
  const bar = (name, key, pale) => ({ name, pale, parts: path.map((row) => ({ name: row.name, value: row[key],
    colour: classColour(row.name) })) });
  box.append(note('The longest chain of operations and delays through all ranks: only what is on it decides how long a ' +
    'pass over the trace takes. "delay" lies between operations: launches, waking up, waiting.'));
  stackedBars(box, [{ name: 'recorded', bars: [bar('', 'recorded_ns', true)] }, { name: 'replayed', bars: [bar('', 'replayed_ns')] }], {
    title: 'Critical path by class', format: duration, items: classItems(path.map((row) => row.name)),
    columns: [textColumn('class', (row) => row.name), column('recorded', (row) => duration(row.recorded_ns)),
      column('replayed', (row) => duration(row.replayed_ns)),
      ratioColumn(data.report)],
    rows: path,
  });
  if (!fidelity.difference || fidelity.difference.parts.length === 0) return undefined;
  const { parts, recorded_ns: recorded, replayed_ns: replayed } = fidelity.difference;
  stackedBars(box, parts.map((row) => ({ name: row.name, bars: [{ parts: [{ name: 'difference', value: row.difference_ns,
    colour: row.class ? classColour(row.name) : 'var(--c15)', more: `${error(row.difference_ns / recorded)} of the recorded pass` }] }] })), {
    title: `Why the ${wording.replayed === 'modelled' ? 'simulation' : 'replay'} differs from the traced pass: ${duration(recorded)} recorded, ${duration(replayed)} ${wording.replayed}`,
    text: `Iteration ${fidelity.difference.iteration}, whose time is the median. The parts add up to the difference; those that shorten the pass point left.`,
    format: signedDuration,
    columns: [textColumn('part', (row) => row.name), column('difference', (row) => signedDuration(row.difference_ns))], rows: parts,
  });
  return undefined;
}

function drawStragglers(box, data, filters) {
  const rows = byRank(data.stragglers, filters);
  if (rows.length === 0) return 'No collectives of several ranks.';
  // Of classes not all members are in the run: who came last is not known.
  const folded = isFolded(data.report);
  const caused = (list) => (folded ? [] : list);
  box.append(note('A collective moves when its last member arrives. A rank that waits little is one that the others wait for. ' +
    `${folded ? '' : 'Kept waiting: while the rank was the last to arrive, how long the other members waited, their mean. '}One pass over the trace.`));
  const info = new Map(data.report.ranks.map((row) => [row.rank, row]));
  const nameOf = (row) => rankName(info.get(row.rank) || row);
  largestFirst(box, rows, (row) => Math.max(row.caused_ns, row.replayed_waited_ns), 'ranks', (place, list) =>
    stackedBars(place, list.map((row) => ({ name: nameOf(row), bars: [
      { name: 'recorded', pale: true, parts: [{ name: 'waited for others', value: row.recorded_waited_ns, colour: 'var(--c0)' }] },
      { name: 'replayed', parts: [{ name: 'waited for others', value: row.replayed_waited_ns, colour: 'var(--c0)' }] },
      ...caused([{ name: 'kept waiting', parts: [{ name: 'kept others waiting', value: row.caused_ns, colour: 'var(--c1)',
        more: `last in ${count(row.last)} of ${count(row.transfers)} collectives` }] }])] })), {
      title: folded ? 'Waiting, by class of equal ranks' : 'Waiting, by rank', format: duration,
      items: [{ name: 'waited for others, recorded', colour: 'var(--c0)', pale: true },
        { name: worded('waited for others, replayed'), colour: 'var(--c0)' },
        ...caused([{ name: worded('kept others waiting, replayed'), colour: 'var(--c1)' }])].filter((item) => isShownTime(item.name)),
      columns: [textColumn('rank', nameOf), column('waited, recorded', (row) => duration(row.recorded_waited_ns)),
        column('waited, replayed', (row) => duration(row.replayed_waited_ns)),
        ...caused([column('kept waiting', (row) => duration(row.caused_ns)),
          column('last', (row) => (row.transfers ? percent(row.last / row.transfers) : UNKNOWN))]),
        column('collectives', (row) => count(row.transfers))],
      rows: list,
    }));
  return undefined;
}

const TIME_SECTIONS = [
  { id: 'step-time', title: 'Step time by class and rank', uses: ['rank', 'class', 'step', 'iteration'], draw: drawSteps,
    left_out: ['iterations', 'steps.recorded', 'steps.replayed'] },
  { id: 'overlap', title: 'Exposed communication and overlap', uses: ['rank'], draw: drawOverlap, left_out: ['overlap'] },
  { id: 'critical-path', title: 'Critical path', uses: ['class'], draw: drawPath },
  { id: 'stragglers', title: 'Stragglers', uses: ['rank'], draw: drawStragglers, left_out: ['stragglers'] },
];
