// Trace sets, or trace sets and runs, beside each other.
openPage(() => {
  const names = shortened(sideNames(data).join(', '), 120);
  addTitle(`${names}: Reprise comparison of recordings`, names, 'Times are as recorded; nothing was replayed for this page.');
  document.getElementById('filters').remove();
  addSections(RECORDING_SECTIONS);
});
