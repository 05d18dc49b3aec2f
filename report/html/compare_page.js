// A comparison: all of it, or the figures that were asked for.
openPage(() => {
  if (data.parts) {
    addTitle(`${data.title}: modelled`, 'Modelled configurations of a sweep; each section has its own.');
    document.getElementById('filters').remove();
    addSections([PARTS_NOTES, ...data.parts.map(partSection)]);
    return;
  }
  const names = shortened(labels(data).join(', '), 120);
  const runs = d3.sum(data.sides, (side) => side.runs.length);
  const { trace_name: trace, reprise_version: version } = data.sides[0].runs[0];
  addTitle(`${names}: Reprise comparison`, `${names}: ${plural(runs, ofRecordings(data) ? 'recording' : 'run')}${trace ? ` of ${trace}` : ''}`,
    ofRecordings(data) ? 'Times of trace sets are as recorded, those of runs as replayed or modelled.' :
      `Runs recorded by Reprise ${version || '(unknown version)'}; the table of runs has each.`);
  document.getElementById('filters').remove();
  const figures = data.figures.map((id) => FIGURE_SECTIONS.find((section) => section.id === id)).filter(Boolean);
  const last = COMPARE_SECTIONS[COMPARE_SECTIONS.length - 1];
  addSections(figures.length ? [FIGURE_NOTES, ...figures, last] : COMPARE_SECTIONS);
});
