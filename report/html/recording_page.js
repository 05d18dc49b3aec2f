// Trace sets, or trace sets and runs, beside each other.
openPage(() => {
  const names = shortened(sideNames(data).join(', '), 120);
  addTitle(`${names}: Reprise comparison of recordings`, names, 'Times of trace sets are as recorded, those of runs as replayed or modelled.');
  document.getElementById('filters').remove();
  const needs = { pair: data.differences.length > 0, repeats: data.repeats === 'recordings' };
  addSections(RECORDING_SECTIONS.filter((section) => section.needs === undefined || needs[section.needs]));
});
