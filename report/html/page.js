// The report of one run: its sections and their filters.
const FILTERS = ['rank', 'class', 'step', 'iteration'];
const address = readAddress();
const filters = Object.fromEntries(FILTERS.map((name) => [name, address.get(name) || '']));
const SECTIONS = [...FIRST_SECTIONS, ...TIME_SECTIONS, ...RUN_SECTIONS, ...TELEMETRY_SECTIONS, ...ENERGY_SECTIONS, ...LAST_SECTIONS];
// What a program that was only watched has nothing of.
const ONLY_REPLAYS = new Set(['step-time', 'overlap', 'critical-path', 'stragglers', 'busbw', 'roofline', 'offenders', 'shapes']);

function keepFilters() {
  writeAddress(FILTERS.filter((name) => filters[name] !== '').map((name) => [name, filters[name]]));
}

// What compares with a recording; critical path and overlap follow from its order.
const ONLY_RECORDED = new Set(['overlap', 'critical-path', 'offenders']);

// What a prediction without power, or a recording, has nothing of.
const ONLY_METERED = new Set(['telemetry', 'energy', 'throttling']);

const isShown = (section) => !((isPrediction(data.report) || isRecording(data.report)) && data.telemetry.length === 0 && ONLY_METERED.has(section.id)) &&
  (data.report.recorded || isMonitor(data.report) || !ONLY_RECORDED.has(section.id) || (isRecording(data.report) && section.id !== 'offenders')) && !(isMonitor(data.report) && ONLY_REPLAYS.has(section.id)) &&
  !(section.id === 'heat-map' && data.report.ranks.length < 2);

function filterChoices() {
  const { replayed, recorded, classes } = data.steps;
  const numbers = (values) => [...new Set(values)].filter((v) => v >= 0).sort((a, b) => a - b);
  return { rank: numbers(data.report.ranks.map((row) => row.rank)), class: classes,
    step: numbers(recorded.map((row) => row[1])), iteration: numbers(replayed.map((row) => row[2])) };
}

function addFilters(redraw) {
  const choices = filterChoices();
  const box = document.getElementById('filters');
  for (const name of FILTERS) {
    // One choice is none.
    if (choices[name].length < 2) continue;
    const select = element('select', { id: `filter-${name}` }, element('option', { value: '' }, 'all'),
      ...choices[name].map((value) => element('option', { value }, String(value))));
    select.value = filters[name];
    if (select.value !== filters[name]) filters[name] = select.value = '';
    select.addEventListener('change', () => {
      filters[name] = select.value;
      if (name === 'iteration') timeView.domain = null;
      keepFilters();
      redraw(name);
    });
    box.append(element('label', { for: `filter-${name}` }, name, select));
  }
  const clear = element('button', { type: 'button' }, 'Clear');
  clear.addEventListener('click', () => {
    const set = FILTERS.filter((name) => filters[name] !== '');
    for (const name of set) filters[name] = document.getElementById(`filter-${name}`).value = '';
    timeView.domain = null;
    keepFilters();
    redraw(...set);
  });
  if (box.children.length) box.append(clear);
  else box.remove();
}

openPage(() => {
  const { run } = data.report;
  wording.replayed = { simulated: 'modelled', recorded: 'recorded' }[data.report.verdict.kind] || 'replayed';
  wording.recorded = data.report.recorded || isMonitor(data.report);
  const name = run.trace_name || (isMonitor(data.report) ? 'monitored program' : 'run');
  const started = isRecording(data.report) ? 'as recorded' : `started ${run.started_at || 'at an unknown time'}`;
  addTitle(`${name}: Reprise report`, `${name}, ${started}, Reprise ${run.reprise_version}`,
    `${isRecording(data.report) ? 'Trace set read' : 'Run recorded'} by Reprise ${run.reprise_version}.`);
  let shown = [];
  addFilters((...names) => shown.filter((section) => section.uses.some((use) => names.includes(use)))
    .forEach((section) => drawSection(section, filters)));
  shown = addSections(SECTIONS.filter(isShown), filters);
});
