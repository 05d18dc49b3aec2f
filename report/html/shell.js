// What both pages share: their data, address, sections, theme. <html data-ready data-errors data-charts>
// says how that went. A section is {id, title, draw(box, data, filters)}; a draw that returns a text
// says with it why there is nothing to show. One that has nothing to show whatever the filters are is
// not on the page. It may have `uses`, the filters that it follows, and `left_out`, the lists of which
// the page may not hold all.
const state = document.documentElement.dataset;
state.errors = '0';
window.addEventListener('error', () => { state.errors = String(Number(state.errors) + 1); });

const data = JSON.parse(document.getElementById('data').textContent);

// Filters and theme are kept behind the '#', so that a link shows the same.
const readAddress = () => new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');
const writeAddress = (pairs) => history.replaceState(null, '', `#${new URLSearchParams(pairs)}`);

// Returns why there is nothing to show, where there is nothing.
function drawSection(section, filters) {
  const box = document.getElementById(section.id);
  const body = element('div', { class: 'body' });
  let why;
  try {
    why = section.draw(body, data, filters);
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
  if (old) old.replaceWith(body);
  else box.append(body);
  state.charts = String([...document.querySelectorAll('figure svg')].filter((svg) => svg.querySelector('path, rect')).length);
  return why;
}

// Whether a section that has nothing to show with these filters has something without.
function hasContent(section, filters) {
  const none = Object.fromEntries(Object.keys(filters || {}).map((name) => [name, '']));
  const leftOut = (section.left_out || []).some((list) => data.left_out[list] > 0);
  return leftOut || (Object.values(filters || {}).some(Boolean) && !section.draw(element('div'), data, none));
}

// Draws the sections that have something to show, and lists them in the contents. Returns those.
function addSections(sections, filters) {
  const shown = [];
  const absent = [];
  for (const section of sections) {
    const uses = section.uses && section.uses.length ?
      element('span', { class: 'uses' }, `follows the filters ${section.uses.join(', ')}`) : null;
    document.getElementById('main').append(element('section', { id: section.id, 'aria-labelledby': `${section.id}-title`, tabindex: '-1' },
      uses, element('h2', { id: `${section.id}-title` }, section.title)));
    const link = element('a', { href: `#${section.id}` }, section.title);
    link.addEventListener('click', (event) => {
      // Without losing the filters that the address holds.
      event.preventDefault();
      document.getElementById(section.id).scrollIntoView();
      document.getElementById(section.id).focus({ preventScroll: true });
    });
    const entry = element('li', {}, link);
    document.getElementById('contents').append(entry);
    const why = drawSection(section, filters);
    if (why && !hasContent(section, filters)) {
      absent.push(`${section.title}: ${why}`);
      document.getElementById(section.id).remove();
      entry.remove();
    } else {
      shown.push(section);
    }
  }
  if (absent.length > 0) {
    document.getElementById('main').append(element('details', { id: 'absent' }, element('summary', {}, 'Sections without content'),
      element('ul', {}, ...absent.map((text) => element('li', {}, text)))));
  }
  return shown;
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

function addTitle(title, subtitle, ...footer) {
  document.title = title;
  document.getElementById('subtitle').textContent = subtitle;
  document.getElementById('footer').prepend(...[...footer,
    'GB are 10⁹ bytes, KiB, MiB and GiB powers of 2. "modelled" and "inferred" values were not measured.'].map((text) => element('p', {}, text)));
}

function openPage(start) {
  addTheme(readAddress().get('theme'));
  start();
  state.milliseconds = String(Math.round(performance.now()));
  state.ready = 'true';
}
