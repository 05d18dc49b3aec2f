// The sides of a comparison: how they are drawn, and how their values and ratios read.
const labels = (data) => data.sides.map((side) => side.label);
// Labels in the head of a table, where they never wrap.
const heads = (data) => labels(data).map((label) => shortened(label, 32));
const rowsOf = (data, group) => data.quantities.filter((row) => row.group === group && row.cells.some((cell) => known(cell.value)));
const rowNamed = (data, name) => data.quantities.find((row) => row.name === name && row.cells.some((cell) => known(cell.value)));

// Shape and colour, so that either is enough.
const sideItems = (data, from = 0) => labels(data).map((label, s) => (
  { name: `${SYMBOL_TEXTS[s % SYMBOLS.length]} ${label}`, colour: colour(s) })).slice(from);
// A side's place among colours and symbols: sides of one series look the same.
function placeOf(data, s) {
  const series = data.sides[s].series;
  return series === undefined ? s : seriesOf(data).indexOf(series);
}
const seriesOf = (data) => [...new Set(data.sides.map((side) => side.series))];
const swatch = (s) => {
  const mark = element('span', { 'aria-hidden': 'true' });
  mark.style.background = colour(s);
  return mark;
};

// Three digits; three decimals near 1, where what matters is how far from it.
function inDigitsOf(like, value) {
  if (like < 0.01 || like >= 1000) return significant(value);
  return value.toFixed(Math.abs(like - 1) < 0.1 ? 3 : Math.max(0, 2 - Math.floor(Math.log10(like))));
}
const times = (value) => (known(value) ? `${value === 1 ? '1' : inDigitsOf(value, value)}×` : UNKNOWN);
const ratioTick = (value) => `${number(value)}×`;
function ratioText(ratio) {
  if (!ratio) return UNKNOWN;
  const { value, low, high } = ratio;
  return known(low) ? `${inDigitsOf(value, value)}× (${inDigitsOf(value, low)} to ${inDigitsOf(value, high)})` : `${times(value)} (no interval)`;
}
const signed = (text, value) => (value > 0 ? `+${text}` : text);

// What an interval says: {kind, mark, word}. A difference is shown only where it leaves 1 out.
function judgement(better, ratio) {
  if (!ratio || !known(ratio.low)) return { kind: 'quiet', mark: '', word: '' };
  if (ratio.low <= 1 && ratio.high >= 1) return { kind: 'quiet', mark: '', word: 'no difference shown' };
  const lower = ratio.high < 1;
  if (better === 'neither') return { kind: 'quiet', mark: '', word: lower ? 'lower' : 'higher' };
  return lower === (better === 'lower') ? { kind: 'better', mark: '▲', word: 'better' } : { kind: 'worse', mark: '▼', word: 'worse' };
}
function judgementMark(better, ratio) {
  const { kind, mark, word } = judgement(better, ratio);
  return element('span', { class: kind }, element('span', { 'aria-hidden': 'true' }, mark && `${mark} `), word);
}

const repeatsText = (data, n) => (n === 1 ? 'one value' : `${count(n)} ${data.repeats}`);
// Of a chart in which some or all of the values are models.
function modelledText(cells) {
  const of = cells.filter((cell) => known(cell.value));
  const modelled = of.filter((cell) => cell.modelled).length;
  return modelled === 0 ? '' : modelled === of.length ? 'modelled' : 'partly modelled, as the table says';
}
const valueText = (row, cell) => `${metricText(row.unit)(cell.value)}${cell.modelled ? ' (modelled)' : ''}`;
const rangeText = (row, cell) => (cell.most > cell.least ? `${metricText(row.unit)(cell.least)} to ${metricText(row.unit)(cell.most)}` : '');
// What stands for the ratio of a cell, in words: of degrees and shares the difference.
function relationText(row, cell) {
  if (cell.ratio) return ratioText(cell.ratio);
  if (!known(cell.difference)) return '';
  return signed(row.unit === 'fraction' ? `${number(100 * cell.difference)} points` : metricText(row.unit)(cell.difference), cell.difference);
}

// Columns of a table whose rows are quantities: each side's value, range and ratio to the first's.
function valueColumns(data) {
  return heads(data).flatMap((head, s) => [
    column(head, (row) => valueText(row, row.cells[s])),
    column('least to most', (row) => rangeText(row, row.cells[s]) || UNKNOWN),
    ...(s === 0 ? [] : [column(`to ${heads(data)[0]}`, (row) => relationText(row, row.cells[s]) || UNKNOWN)])]);
}

// Trace sets, or trace sets and runs.
const ofRecordings = (data) => ['recordings', 'none'].includes(data.repeats);

// What the numbers are: stands next to them on every page.
function howMeasured(data) {
  if (ofRecordings(data)) {
    return data.repeats === 'none' ? `Values are of one recording of each side, all ranks and one pass. ${data.sides.length < 2 ? '' :
      'How one recording differs from the next is not known, so ratios have no interval. Give several of each side: A=SET,SET,SET.'}` :
      `Values are medians over the recordings of a side. Ratios are to ${data.sides[0].label}, with their 95\u00a0% interval from recording to recording: ` +
      'no difference is shown where it holds 1.';
  }
  const runs = data.repeats === 'runs';
  const values = runs ? 'Values are medians over the runs of a side, each run\'s the median of its iterations.' :
    'Values are medians over the iterations of a side.';
  if (data.sides.length < 2) return values;
  if (!runs) {
    return `${values} Ratios are to ${data.sides[0].label}. They are no claim and have no interval: how one run differs from the next is not known. ` +
      'Give several runs of each side: A=RUN,RUN,RUN.';
  }
  return `${values} Ratios are to ${data.sides[0].label}, with their 95\u00a0% interval from run to run: no difference is shown where it holds 1. ` +
    'What all runs of a side have in common is not in it: this machine and not another of its model, its cooling, the errors of its meters.';
}

function drawRuns(box, data) {
  const runs = data.sides.flatMap((side) => side.runs.map((run) => ({ ...run, side })));
  box.append(table([textColumn('side', (r) => r.side.label), textColumn('run', (r) => r.path), textColumn('devices', (r) => r.side.devices || UNKNOWN),
    column('ranks', (r) => count(r.side.world_size)), column('hosts', (r) => count(r.side.hosts || null)), column('iterations', (r) => count(r.iterations)),
    textColumn('state', (r) => [r.complete ? 'complete' : 'not complete', r.oversubscribed ? 'oversubscribed' : ''].filter(Boolean).join(', ')),
    textColumn('mode', (r) => r.mode || UNKNOWN), textColumn('trace', (r) => r.trace_name || UNKNOWN), textColumn('hash', (r) => shortened(r.trace_hash || UNKNOWN, 13)),
    textColumn('started', (r) => r.started_at || UNKNOWN), textColumn('Reprise', (r) => r.reprise_version || UNKNOWN),
    textColumn('command', (r) => shortened(r.command || UNKNOWN, 160))], runs));
}
