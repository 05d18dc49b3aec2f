// Who used the energy, and what held the devices back.

// A row of equal devices has the numbers of one.
const deviceName = (row) => row.device + (row.devices > 1 ? ` ×${count(row.devices)}` : '');

// One bar a row: joules of one step with the range of iterations where that is known for all rows,
// else of the whole measured time.
function energyBars(box, rows, { title, name, modelled, paint }) {
  const used = rows.filter((row) => row.joules > 0);
  if (used.length === 0) return;
  const perStep = used.every((row) => row.step_joules);
  const value = (row) => (perStep ? row.step_joules.median : row.joules);
  const spread = (row) => (perStep && row.step_joules.iterations > 1 ? row.step_joules.half_range : null);
  const whole = d3.sum(used, (row) => row.joules);
  largestFirst(box, used, value, 'rows', (place, list) =>
    stackedBars(place, list.map((row) => ({ name: name(row) + (row.estimate ? ' ≈' : ''), bars: [{
      low: spread(row) === null ? null : Math.max(0, value(row) - spread(row)), high: value(row) + spread(row),
      parts: [{ name: modelled ? 'energy, modelled' : 'energy', value: value(row), colour: paint(row),
        more: `${percent(row.joules / whole)} of what operations used${spread(row) === null ? '' : `\n± ${joules(spread(row))}, half the range of iterations`}` +
          (row.estimate ? '\nestimate: shorter than the meters update' : '') }] }] })), {
      title: `${title}${modelled ? ' (modelled)' : ''}`, format: joules,
      label: perStep ? 'of one step' : 'over the measured time',
      columns: [textColumn('', name), column('energy', (r) => joules(r.joules)), column('above idle', (r) => joules(r.above_idle_joules)),
        column('of a step', (r) => joules(r.step_joules && r.step_joules.median)),
        column('± half range', (r) => joules(r.step_joules && r.step_joules.half_range)),
        column('active', (r) => duration(r.active_ns)), textColumn('quality', (r) => (modelled ? 'modelled ' : '') + (r.estimate ? 'estimate' : ''))],
      rows: list,
    }));
}

function drawEnergy(box, data, filters) {
  const { report } = data;
  const { attribution } = report;
  if (!attribution) return 'No energy: no source measured it (or models it), or there are too few samples.';
  const { modelled } = attribution;
  const watched = isMonitor(report);
  const text = [`${joules(attribution.joules)} over ${duration(report.measured_ns)}` +
    (watched ? '' : `, of these ${joules(attribution.idle_joules)} while no operation ran`)];
  if (attribution.gap_joules > 0) text.push(`${joules(attribution.gap_joules)} while a meter was not read`);
  if (known(attribution.above_idle_joules)) text.push(`${joules(attribution.above_idle_joules)} above idle power (${watts(attribution.idle_watts)})`);
  if (known(attribution.boundary_joules)) text.push(`± ${joules(attribution.boundary_joules)} for what the meters had counted at the bounds`);
  box.append(note(`${text.join('; ')}.` + (watched ? '' : (attribution.of_operations ? ' Each operation has the energy of its model, and at each instant those then running share idle power equally.' :
    ' At each instant the operations then running share the power of their device\'s meters equally.') + ' Whiskers: half the range of iterations. "≈": an estimate, shorter than the meters update.')));
  if (modelled) box.append(warning(`Modelled, not measured: source ${report.energy_source}.`));
  const plain = (row) => row.name;
  const fixed = (paint) => () => paint;
  energyBars(box, attribution.classes.filter((r) => matches(filters.class, r.name)), { title: 'By class', name: plain, modelled, paint: (r) => classColour(r.name) });
  energyBars(box, attribution.phases, { title: 'By phase', name: plain, modelled, paint: fixed('var(--c5)') });
  energyBars(box, attribution.transfers, { title: 'By collective', modelled, paint: fixed('var(--c2)'),
    name: (r) => `${r.name} ${byteText(r.bytes)}, ${r.group || 'default'} of ${r.group_size}` });
  energyBars(box, attribution.ranks.filter((r) => matches(filters.rank, r.name)), { title: isFolded(report) ? 'By class of equal ranks, all of its ranks' : 'By rank', name: (r) => nameOfRank(report, r.name), modelled, paint: fixed('var(--c0)') });
  box.append(element('h3', {}, 'Meters'), table([textColumn('device', deviceName), textColumn('host', (r) => r.host),
    textColumn('metric', (r) => r.metric), textColumn('source', (r) => r.source + (r.modelled ? ' (modelled)' : '')),
    column(isFolded(report) ? 'energy of each' : 'energy', (r) => joules(r.joules)), column('while idle', (r) => joules(r.idle_joules)),
    column('idle power', (r) => watts(r.idle_watts)), column('± at bounds', (r) => joules(r.boundary_joules)),
    column('updates', (r) => duration(r.update_ns)), column('gaps', (r) => count(r.gaps))], attribution.meters));
  return undefined;
}

// How fast each phase goes, and what a token of it takes.
function drawPhaseUses(box, data) {
  const { phase_uses: uses, attribution, tokens } = data.report;
  if (uses.length === 0) return 'Neither energy nor tokens are known of this run.';
  const modelled = attribution && attribution.modelled;
  const some = (key) => uses.some((use) => known(use[key]));
  box.append(note(`Of one step. Time: the mean of a rank's operations, of prefill and decode the passes from end to end. Tokens and energy of all ranks.${
    tokens ? ` Tokens: ${tokens.from}.` : ''}`));
  if (modelled) box.append(warning(`Modelled, not measured: source ${data.report.energy_source}.`));
  const columns = [textColumn('phase', (use) => use.name), column('time', (use) => duration(use.time_ns)), column('tokens', (use) => count(use.tokens)),
    column('tokens/s', (use) => number(use.tokens_per_second)), column('energy', (use) => joules(use.joules)),
    column('J/token', (use) => joules(use.joules_per_token))];
  const bars = (key, title, format, paint) => {
    const rows = uses.filter((use) => known(use[key]));
    if (rows.length > 0) {
      stackedBars(box, rows.map((use) => ({ name: use.name, bars: [{ parts: [{ name: title, value: use[key], colour: paint }] }] })),
        { title, format, columns, rows: uses });
    }
  };
  bars('joules', `Energy of a step by phase${modelled ? ' (modelled)' : ''}`, joules, 'var(--c5)');
  bars('tokens_per_second', 'Tokens per second by phase', number, 'var(--c0)');
  bars('joules_per_token', `Energy of a token by phase${modelled ? ' (modelled)' : ''}`, joules, 'var(--c5)');
  if (!['joules', 'tokens_per_second', 'joules_per_token'].some(some)) box.append(table(columns, uses));
  return undefined;
}

function drawThrottling(box, data) {
  const { throttling, peaks, heating } = data.report.thermal;
  if (throttling.length + peaks.length + heating.length === 0) return 'No source tells of throttling, power peaks or temperatures on this machine.';
  const label = (r) => `${deviceName(r)}${r.modelled ? ' (modelled)' : ''} on ${r.host}`;
  const throttled = throttling.filter((r) => r.throttled_ns > 0);
  if (throttling.length) {
    box.append(note(throttled.length === 0 ? `${plural(throttling.length, 'device')} tell, none throttled.` :
      `${throttled.length} of ${plural(throttling.length, 'device')} throttled. Reasons overlap. The time lost is an estimate from the clock, inferred.`));
  }
  if (throttled.length) {
    const reasons = [...new Set(throttled.flatMap((r) => r.reasons.map((reason) => reason.name)))];
    stackedBars(box, throttled.map((r) => ({ name: `${deviceName(r)} on ${r.host}`, bars: reasons.map((name, i) => ({ name, parts: [{ name,
      value: (r.reasons.find((reason) => reason.name === name) || { ns: 0 }).ns, colour: colour(i + 1),
      more: `of ${duration(r.measured_ns)}; lost ${duration(r.lost_ns)} (estimate)` }] })) })), {
      title: 'Time throttled, by device and reason', format: duration, items: reasons.map((name, i) => ({ name, colour: colour(i + 1) })) });
    const rows = throttled.flatMap((r) => r.intervals.map((interval) => ({ ...interval, label: label(r), from: r.unthrottled_hertz })));
    const times = (list) => list.map((t) => `${shortened(t.name, 60)} ${duration(t.ns)}`).join(', ');
    box.append(element('h3', {}, 'Intervals'), table([textColumn('device', (r) => r.label), column('from', (r) => duration(r.begin_ns)),
      column('length', (r) => duration(r.length_ns)), textColumn('reasons', (r) => r.reasons.join(', ')),
      column('clock', (r) => metricText('hertz')(r.clock_hertz)), column('unthrottled', (r) => metricText('hertz')(r.from)),
      column('lost (estimate)', (r) => duration(r.lost_ns)), textColumn('classes', (r) => times(r.classes)),
      textColumn('operations', (r) => times(r.operations))], rows));
  }
  if (peaks.length) {
    box.append(element('h3', {}, 'Power peaks'), note('Excursions: above the mean by two standard deviations.'),
      table([textColumn('device', label), textColumn('metric', (r) => r.metric), column('mean', (r) => watts(r.mean_watts)),
        column('deviation', (r) => watts(r.deviation_watts)), column('most', (r) => watts(r.max_watts)), column('limit', (r) => watts(r.limit_watts)),
        column('excursions', (r) => count(r.excursions)), column('their time', (r) => duration(r.excursion_ns)),
        column('above limit', (r) => duration(r.above_limit_ns))], peaks));
  }
  if (heating.length) {
    box.append(element('h3', {}, 'Heating'), table([textColumn('device', label), textColumn('metric', (r) => r.metric),
      ...[['begin', 'begin_celsius'], ['end', 'end_celsius'], ['most', 'max_celsius']].map(([name, key]) => column(name, (r) => metricText('celsius')(r[key]))),
      column('trend', (r) => withUnit('°C/min')(r.celsius_per_minute))], heating));
  }
  return undefined;
}

const ENERGY_SECTIONS = [
  { id: 'phases', title: 'Phases: time, tokens, energy', uses: [], draw: drawPhaseUses },
  { id: 'energy', title: 'Energy', uses: ['rank', 'class'], draw: drawEnergy, left_out: ['energy.meters', 'energy.transfers', 'energy.ranks', 'energy.steps'] },
  { id: 'throttling', title: 'Throttling, power peaks, heating', uses: [], draw: drawThrottling,
    left_out: ['throttling.devices', 'throttling.intervals', 'power_peaks', 'heating'] },
];
