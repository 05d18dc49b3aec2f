'use strict';
// Numbers as people read them, and elements. Text from the run is only ever set as text.

const UNKNOWN = '–';
const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

function significant(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  if (size >= 100) return d3.format(',.0f')(value);
  return String(Number(value.toPrecision(3)));
}

const DURATION_UNITS = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];
const BYTE_UNITS = [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10], ['B', 1]];

function scaled(value, units) {
  if (!known(value)) return UNKNOWN;
  if (value === 0) return `0 ${units[0][0]}`;
  const [name, factor] = units.find((unit) => Math.abs(value) >= unit[1]) || units[units.length - 1];
  return `${significant(value / factor)} ${name}`;
}
const duration = (ns) => scaled(ns, DURATION_UNITS);
const signedDuration = (ns) => (ns > 0 ? '+' : '') + duration(ns);
const byteText = (bytes) => scaled(bytes, BYTE_UNITS);
const number = (value) => (known(value) ? significant(value) : UNKNOWN);
const count = (value) => (known(value) ? d3.format(',')(value) : UNKNOWN);
const withUnit = (unit) => (value) => (known(value) ? `${significant(value)} ${unit}` : UNKNOWN);
function rate(value, per) {
  if (!known(value)) return UNKNOWN;
  if (Math.abs(value) >= 1e5) return `${significant(value / 1e6)} M${per}`;
  return per === '/J' && value !== 0 && Math.abs(value) < 0.1 ? `${significant(1e3 * value)}/kJ` : `${significant(value)}${per}`;
}
const joules = (value) => (Math.abs(value) >= 1e6 ? `${significant(value / 1e6)} MJ` : withUnit('J')(value));
const watts = withUnit('W');
const percent = (fraction) => (known(fraction) ? `${(100 * fraction).toFixed(1)} %` : UNKNOWN);
const error = (fraction) => (known(fraction) ? `${fraction > 0 ? '+' : ''}${percent(fraction)}` : UNKNOWN);
const relative = (replayed, recorded) =>
  (known(replayed) && recorded > 0 ? replayed / recorded - 1 : null);
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
function wrapped(text, most) {
  const lines = [];
  for (const word of text.split(' ')) {
    if (lines.length && lines[lines.length - 1].length + word.length < most) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
}

// How a value of a unit is shown.
function metricText(unit) {
  if (unit === 'seconds') return (value) => duration(known(value) ? value * 1e9 : null);
  if (unit === 'joules') return joules;
  if (unit === '1/s' || unit === '1/J') return (value) => rate(value, unit.slice(1));
  if (unit === 'watts') return watts;
  if (unit === 'celsius') return withUnit('°C');
  if (unit === 'hertz') return (value) => (known(value) ? `${(value / 1e9).toFixed(2)} GHz` : UNKNOWN);
  if (unit === 'fraction' || unit === 'seconds/s') return percent;
  if (unit === 'bytes') return byteText;
  if (unit === 'bytes/s') return (value) => `${byteText(value)}/s`;
  return unit === 'count' || unit === '' ? number : withUnit(unit);
}

// element('p', {class: 'note'}, 'text', child, …); attributes are set by name, children appended.
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const note = (text) => element('p', { class: 'note' }, text);
const warning = (text) => element('p', { class: 'warning' }, text);
function card(name, value, more) {
  return element('dl', { class: 'card' }, element('dt', {}, name), element('dd', { class: 'value' }, value),
    more ? element('dd', { class: 'more' }, more) : null);
}
const cards = (...list) => element('div', { class: 'cards' }, ...list.filter(Boolean));

// What a report calls its times. Those of a simulation are modelled, and sets of generators have no
// recorded ones: tables and charts leave out what would be of a recording.
const wording = { replayed: 'replayed', recorded: true };
const worded = (text) => (text || '').replace(/\breplayed\b/g, wording.replayed).replace(/\bReplayed\b/g,
  wording.replayed.replace(/^./, (first) => first.toUpperCase()));
const isShownTime = (name) => wording.recorded || !/\brecorded\b|^(step )?(error|ratio)$/.test(name || '');

// A column: {name, text: row => string, left: whether it is text}.
function table(allColumns, rows) {
  const columns = allColumns.filter((one) => isShownTime(one.name)).map((one) => ({ ...one, name: worded(one.name) }));
  const kind = (column) => (column.left ? { class: 'text' } : {});
  const head = element('tr', {}, ...columns.map(
    (column) => element('th', { ...kind(column), scope: 'col' }, column.name)));
  const body = rows.map((row) => element('tr', {}, ...columns.map(
    (column) => element('td', kind(column), column.text(row)))));
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table' },
    element('table', {}, element('thead', {}, head), element('tbody', {}, ...body)));
}
const column = (name, text) => ({ name, text });
const textColumn = (name, text) => ({ name, text, left: true });

// A table that is built when it is opened: large ones cost nothing until then.
function foldedTable(columns, rows) {
  const details = element('details', { class: 'table' },
    element('summary', {}, `Table, ${plural(rows.length, 'row')}`));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(table(columns, rows));
  });
  return details;
}
