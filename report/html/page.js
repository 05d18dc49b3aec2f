// Puts the page together: sections, filters, theme. <html data-ready data-errors data-charts> says
// how that went.
const state = document.documentElement.dataset;
state.errors = '0';
window.addEventListener('error', () => { state.errors = String(Number(state.errors) + 1); });

const data = JSON.parse(document.getElementById('data').textContent);
const FILTERS = ['rank', 'class', 'step', 'iteration'];
const filters = Object.fromEntries(FILTERS.map((name) => [name, '']));
const SECTIONS = [...FIRST_SECTIONS, ...TIME_SECTIONS, ...RUN_SECTIONS, ...TELEMETRY_SECTIONS, ...ENERGY_SECTIONS, ...LAST_SECTIONS];
// What a program that was only watched has nothing of.
const ONLY_REPLAYS = new Set(['step-time', 'overlap', 'critical-path', 'stragglers', 'busbw', 'roofline', 'offenders']);

// Filters and theme are kept behind the '#', so that a link shows the same.
function readAddress() {
  const parts = new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');
  for (const name of FILTERS) filters[name] = parts.get(name) || '';
  return parts.get('theme');
}
function writeAddress() {
  const parts = new URLSearchParams(FILTERS.filter((name) => filters[name] !== '').map((name) => [name, filters[name]]));
  history.replaceState(null, '', `#${parts}`);
}

function drawSection(section) {
  const box = document.getElementById(section.id);
  const body = element('div');
  try {
    const why = section.draw(body, data, filters);
    if (why) body.append(note(why));
  } catch (problem) {
    state.errors = String(Number(state.errors) + 1);
    console.error(problem);
    body.append(element('p', { class: 'error' }, `This section could not be drawn: ${problem.message}`));
  }
  for (const list of section.left_out || []) {
    if (data.left_out[list] > 0) body.append(note(`… and ${count(data.left_out[list])} more (${list}), not in this page; --json has all.`));
  }
  tip.hide();
  const old = box.querySelector('.body');
  body.className = 'body';
  if (old) old.replaceWith(body);
  else box.append(body);
  state.charts = String([...document.querySelectorAll('figure svg')].filter((svg) => svg.querySelector('path, rect')).length);
}

function addSections() {
  const shown = SECTIONS.filter((section) => !(isMonitor(data.report) && ONLY_REPLAYS.has(section.id)) &&
    !(section.id === 'heat-map' && data.report.ranks.length < 2));
  for (const section of shown) {
    const uses = section.uses.length ? element('span', { class: 'uses' }, `follows the filters ${section.uses.join(', ')}`) : null;
    document.getElementById('main').append(element('section', { id: section.id, 'aria-labelledby': `${section.id}-title`, tabindex: '-1' },
      uses, element('h2', { id: `${section.id}-title` }, section.title)));
    const link = element('a', { href: `#${section.id}` }, section.title);
    link.addEventListener('click', (event) => {
      // Without losing the filters that the address holds.
      event.preventDefault();
      document.getElementById(section.id).scrollIntoView();
      document.getElementById(section.id).focus({ preventScroll: true });
    });
    document.getElementById('contents').append(element('li', {}, link));
    drawSection(section);
  }
  return shown;
}

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
      writeAddress();
      redraw(name);
    });
    box.append(element('label', { for: `filter-${name}` }, name, select));
  }
  const clear = element('button', { type: 'button' }, 'Clear');
  clear.addEventListener('click', () => {
    const set = FILTERS.filter((name) => filters[name] !== '');
    for (const name of set) filters[name] = document.getElementById(`filter-${name}`).value = '';
    timeView.domain = null;
    writeAddress();
    redraw(...set);
  });
  if (box.children.length) box.append(clear);
  else box.remove();
}

function addTheme(wanted) {
  const button = document.getElementById('theme');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = wanted;
  const apply = () => {
    // Paper is light.
    const theme = matchMedia('print').matches ? 'light' : chosen || (dark.matches ? 'dark' : 'light');
    state.theme = theme;
    button.textContent = theme === 'dark' ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Switch to the ${theme === 'dark' ? 'light' : 'dark'} theme`);
  };
  button.addEventListener('click', () => { chosen = state.theme === 'dark' ? 'light' : 'dark'; apply(); });
  dark.addEventListener('change', apply);
  matchMedia('print').addEventListener('change', apply);
  apply();
}

function start() {
  const { run } = data.report;
  const name = run.trace_name || (isMonitor(data.report) ? 'monitored program' : 'run');
  document.title = `${name}: Reprise report`;
  document.getElementById('subtitle').textContent = `${name}, started ${run.started_at || 'at an unknown time'}, Reprise ${run.reprise_version}`;
  document.getElementById('footer').prepend(
    element('p', {}, `Run recorded by Reprise ${run.reprise_version}.`),
    element('p', {}, 'GB are 10⁹ bytes, KiB, MiB and GiB powers of 2. "modelled" and "inferred" values were not measured.'));
  addTheme(readAddress());
  let shown = [];
  addFilters((...names) => shown.filter((section) => section.uses.some((use) => names.includes(use))).forEach(drawSection));
  shown = addSections();
}

start();
state.milliseconds = String(Math.round(performance.now()));
state.ready = 'true';
