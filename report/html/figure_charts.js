// Pictures of sweeps, from any set of sides: by parallelism, by optimisation, by microbatch size, and
// each device's heat.
// A rate from what one step takes: 1 / seconds.
function perStep(row, name, label, unit) {
  const inverse = (value) => (value > 0 ? 1 / value : null);
  const turned = (cell) => ({ ...cell, value: inverse(cell.value), least: inverse(cell.most), most: inverse(cell.least),
    ratio: cell.ratio && { value: inverse(cell.ratio.value), low: inverse(cell.ratio.high), high: inverse(cell.ratio.low) } });
  return row && { ...row, name, label, unit, better: 'higher', cells: row.cells.map(turned) };
}
// The first of those that the most sides have.
function mostKnown(rows) {
  const sides = (row) => (row ? row.cells.filter((cell) => known(cell.value)).length : 0);
  return rows.reduce((best, row) => (sides(row) > sides(best) ? row : best), undefined);
}
const throughputRow = (data) => mostKnown([rowNamed(data, 'tokens_per_second'), rowNamed(data, 'samples_per_second'),
  perStep(rowNamed(data, 'time'), 'steps_per_second', 'steps per second', '1/s')]);
const efficiencyRow = (data) => mostKnown([rowNamed(data, 'tokens_per_joule'), rowNamed(data, 'samples_per_joule'),
  perStep(rowNamed(data, 'energy'), 'steps_per_joule', 'steps per joule', '1/J')]);

// What the panels show, in order: title, its row, why there may be none.
const NO_METER = 'No side has it: no source measured it.';
const MEASURES = {
  throughput: ['Throughput', throughputRow, 'No side has a step time.'],
  efficiency: ['Energy efficiency', efficiencyRow, 'No side has the energy of a step.'],
  exposed: ['Exposed communication', (data) => rowNamed(data, 'exposed_comm'), 'No side has transfers that were measured.'],
  power: ['Mean power', (data) => rowNamed(data, 'power'), NO_METER],
  peak: ['Peak power', (data) => rowNamed(data, 'peak_power'), NO_METER],
  burstiness: ['Burstiness of power', (data) => rowNamed(data, 'burstiness'), NO_METER],
  temperature: ['Highest temperature', (data) => rowNamed(data, 'temperature'), NO_METER],
  clock: ['Clock', (data) => rowNamed(data, 'clock'), NO_METER],
  throttled: ['Time throttled', (data) => rowNamed(data, 'throttled'), NO_METER],
};

// What the title does not say yet.
const captionOf = (title, row, ...more) => [row.label.toLowerCase() === title.toLowerCase() ? '' : row.label, modelledText(row.cells), ...more]
  .filter(Boolean).join('; ');

function valueMeasure(data, key) {
  const [title, find, why] = MEASURES[key];
  const row = find(data);
  if (!row) return { title, why, cells: [] };
  const more = (cell) => [cell.modelled ? 'modelled' : '', rangeText(row, cell), repeatsText(data, cell.repeats)].filter(Boolean).join(', ');
  return { title, why, text: captionOf(title, row), format: metricText(row.unit), dots: row.unit === 'celsius',
    cells: row.cells.map((cell) => ({ value: cell.value, low: cell.least, high: cell.most, more: known(cell.value) ? more(cell) : '' })) };
}

// The same as ratios to the first side; as values where there are none (degrees, shares).
function ratioMeasure(data, key) {
  const [title, find, why] = MEASURES[key];
  const row = find(data);
  if (!row) return valueMeasure(data, key);
  if (!row.cells.some((cell, s) => s > 0 && cell.ratio)) {
    const because = row.note || (row.unit === 'celsius' || row.unit === 'fraction' ? 'that of degrees or shares would tell nothing' : 'unknown or zero on a side');
    return { ...valueMeasure(data, key), text: captionOf(title, row, `values, no ratio: ${because}`) };
  }
  const cell = (one, s) => {
    if (s === 0) return { value: known(one.value) ? 1 : null, more: known(one.value) ? valueText(row, one) : '' };
    const { value, low, high } = one.ratio || {};
    return { value, low, high, more: one.ratio ? [valueText(row, one), judgement(row.better, one.ratio).word].filter(Boolean).join(', ') : row.note };
  };
  return { title, why, format: times, ticks: ratioTick, line: 1,
    text: captionOf(title, row, row.better === 'neither' ? 'neither way is better' : `${row.better} is better`),
    cells: row.cells.map(cell) };
}

// Busy time by class with communication by kind, mean of a rank: [{name, colour, cells}].
function breakdownParts(data) {
  const kinds = rowsOf(data, 'collective');
  const paint = (i) => `color-mix(in srgb, ${classColour('comm')} ${Math.max(30, 100 - 22 * i)}%, var(--panel))`;
  const ranksOf = (side) => (side.load ? d3.sum(side.load.ranks, (rank) => rank.alike) : side.world_size);
  const perRank = (row) => row.cells.map((cell, s) => (known(cell.value) ? cell.value / ranksOf(data.sides[s]) : null));
  const parts = rowsOf(data, 'class').map((row) => ({ name: row.label, colour: classColour(row.label), values: perRank(row) }));
  const comm = parts.findIndex((part) => part.name === 'comm');
  const byKind = kinds.map((row, i) => ({ name: row.label, colour: paint(i), values: perRank(row) }));
  if (comm < 0 || kinds.length === 0) return parts;
  const rest = parts[comm].values.map((value, s) => (known(value) ? value - d3.sum(byKind, (part) => part.values[s]) : null));
  // Rounding is no other kind of communication.
  const other = rest.some((value, s) => value > 0.01 * parts[comm].values[s]) ?
    [{ name: 'other communication', colour: paint(kinds.length), values: rest.map((value) => (known(value) ? Math.max(value, 0) : null)) }] : [];
  return [...parts.slice(0, comm), ...parts.slice(comm + 1), ...byKind, ...other];
}
function drawBreakdown(box, data) {
  const parts = breakdownParts(data);
  const title = 'Busy time of one pass by class, communication by kind';
  if (parts.length === 0) {
    emptyPanel(box, { title, why: 'No side has times of classes.' });
    return;
  }
  const format = metricText('seconds');
  const svg = stackedBars(box, data.sides.map((side, s) => ({ name: parts.some((part) => known(part.values[s])) ? side.label : `${side.label}: not known`,
    bars: [{ parts: parts.map((part) => ({ name: part.name, colour: part.colour, value: part.values[s] || 0 })).filter((part) => part.value > 0) }] })), {
    title: [title, modelledText(rowsOf(data, 'class').flatMap((row) => row.cells))].filter(Boolean).join(', '),
    text: 'Mean of a rank, one pass over the trace. What overlaps counts in full, so a bar can be longer than the pass; time in which a rank did nothing is not in it.',
    format, items: parts, columns: [textColumn('part', (part) => part.name), ...heads(data).map((head, s) => column(head, (part) => format(part.values[s])))], rows: parts });
  svg.selectAll('path[style]').style('stroke', 'var(--panel)').style('stroke-width', 0.7);
}

// One of many figures on a page leaves out the panels that would be empty.
function panels(box, data, keys, draw) {
  const grid = element('div', { class: 'panels' });
  box.append(grid);
  for (const key of keys) if (!data.notes || MEASURES[key][1](data)) draw(grid, key);
}
// What a figure on its own says of itself, or else `text`.
const addNotes = (box, data, text) => box.append(...(data.notes || [text]).map(note));
function seriesLegend(box, data) {
  if (data.sides[0].series === undefined) return;
  box.append(element('ul', { class: 'legend' }, ...seriesOf(data).map((name, i) => {
    const mark = element('li', {}, `${SYMBOL_TEXTS[i % SYMBOLS.length]} ${name}`);
    mark.prepend(swatch(i));
    return mark;
  })));
}
const WHISKERS = 'Whiskers: from the least to the most of the repeats.';

function drawParallelism(box, data) {
  addNotes(box, data, WHISKERS);
  seriesLegend(box, data);
  panels(box, data, ['throughput', 'efficiency', 'power', 'peak', 'temperature', 'clock', 'throttled'], (grid, key) => barPanel(grid, data, valueMeasure(data, key)));
  if (!data.notes) drawBreakdown(box, data);
}

function drawOptimizations(box, data) {
  addNotes(box, data, `Ratios to ${data.sides[0].label} (dashed line: 1), with their 95 % interval. Where there is no ratio: values, whiskers from the least to the most of the repeats.`);
  if (data.notes) box.append(note(`Ratios to ${data.ratios_to} (dashed line: 1); of degrees and shares values.`));
  seriesLegend(box, data);
  panels(box, data, ['throughput', 'efficiency', 'exposed', 'power', 'peak', 'temperature', 'clock', 'throttled'], (grid, key) => barPanel(grid, data, ratioMeasure(data, key)));
  if (!data.notes) drawBreakdown(box, data);
}

function drawMicrobatch(box, data) {
  const without = data.sides.filter((side) => !known(side.number)).map((side) => side.label);
  if (without.length === data.sides.length) return 'No side has a number in its label, such as "mb 4": there is nothing to draw the sides against.';
  if (without.length) box.append(note(`Without a number in the label, so not drawn: ${without.join(', ')}.`));
  addNotes(box, data, `Each side stands at the first number in its label; the line goes through the medians of sides at one number. ${WHISKERS}`);
  seriesLegend(box, data);
  const places = element('ul', { class: 'legend' }, ...sideItems(data).map((item, s) => {
    const mark = element('li', {}, `${item.name}${known(data.sides[s].number) ? '' : ' (not drawn)'}`);
    mark.prepend(swatch(s));
    return mark;
  }));
  if (data.sides[0].series === undefined) box.append(places);
  panels(box, data, ['throughput', 'efficiency', 'power', 'peak', 'burstiness', 'temperature'], (grid, key) => linePanel(grid, data, valueMeasure(data, key)));
  return undefined;
}

const MOST_METRICS = 14;
// Metrics of all sides, each with its scale across them.
function heatMetrics(data) {
  const metrics = new Map();
  data.heat.forEach((side) => side.metrics.forEach((metric, m) => {
    if (!metrics.has(metric.name)) metrics.set(metric.name, { name: metric.name.replace(/_/g, ' '), text: metricText(metric.unit), all: [] });
    metrics.get(metric.name).all.push(...side.ranks.map((rank) => rank.values[m]).filter(known));
  }));
  return [...metrics].filter(([, metric]) => metric.all.length > 0).map(([key, metric]) => ({ ...metric, range: d3.extent(metric.all),
    of: data.heat.map((side) => side.metrics.findIndex((one) => one.name === key)) }));
}
function drawHeat(box, data) {
  const all = heatMetrics(data);
  if (all.length === 0) return 'Nothing is known of single ranks on any side.';
  const metrics = all.slice(0, MOST_METRICS);
  if (all.length > metrics.length) box.append(note(`… and ${plural(all.length - metrics.length, 'more metric')}: ${all.slice(MOST_METRICS).map((m) => m.name).join(', ')}; --json has all.`));
  box.append(note('Of each side the first run. A metric has one scale across all sides, so shades compare between them:'),
    table([textColumn('metric', (m) => m.name), column('least (pale)', (m) => m.text(m.range[0])), column('most (strong)', (m) => m.text(m.range[1]))], metrics));
  data.heat.forEach((side, s) => {
    const title = `${data.sides[s].label}: ranks × metrics`;
    if (!side.ranks.some((rank) => rank.values.some(known))) emptyPanel(box, { title, why: 'Nothing is known of its single ranks.' });
    else heatMap(box, side.ranks, metrics.map((m) => ({ name: m.name, text: m.text, range: m.range, value: (rank) => rank.values[m.of[s]] })), { title });
    if (side.left_out > 0) box.append(note(`… and ${count(side.left_out)} more ranks, not in this page; --json has all.`));
  });
  return undefined;
}

function drawFigureNotes(box, data) {
  for (const text of data.warnings) box.append(warning(text));
  box.append(note(howMeasured(data)));
}

// A page of many figures: `data.parts`, each with its own sides.
const partSection = (part, i) => ({ id: `part-${i}`, title: part.title,
  draw: (box) => FIGURE_SECTIONS.find((section) => section.id === part.figure).draw(box, part) });
const PARTS_NOTES = { id: 'notes', title: 'How to read it', draw: (box) => box.append(...data.warnings.map(warning)) };

const FIGURE_NOTES = { id: 'notes', title: 'How to read it', draw: drawFigureNotes };
const FIGURE_SECTIONS = [
  { id: 'parallelism', title: 'Parallelism sweep', draw: drawParallelism },
  { id: 'optimizations', title: 'Optimization sweep', draw: drawOptimizations },
  { id: 'microbatch', title: 'Microbatch sweep', draw: drawMicrobatch },
  { id: 'heatmap', title: 'Heat maps of ranks', draw: drawHeat },
];
