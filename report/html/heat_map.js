// Ranks × metrics as shades. ranks: [{rank, host, device, …}]; columns: [{name, text: value => string,
// value: rank => number, range: [least, most] of the shades}].
const RANK_COLUMNS = [textColumn('rank', (r) => String(r.rank)), textColumn('host', (r) => r.host), textColumn('device', (r) => r.device)];
// A rank of a simulated folded set stands for a class of equal ranks.
const CLASS_COLUMNS = [textColumn('class', (r) => String(r.rank)), column('ranks', (r) => count(r.alike)),
  textColumn('which', (r) => shortened(r.members || String(r.rank), 80)), textColumn('device', (r) => r.device)];
const isClass = (row) => row.alike > 1 || (row.members && row.members !== String(row.rank));
const rankColumnsOf = (ranks) => (ranks.some(isClass) ? CLASS_COLUMNS : RANK_COLUMNS);
const rankName = (row) => (!row.members ? `rank ${row.rank}` : row.alike > 1 ? `class ${row.rank} (×${count(row.alike)})` : `rank ${row.members}`);

// Of a rank's number, as text.
const nameOfRank = (report, number) => rankName(report.ranks.find((row) => String(row.rank) === number) || { rank: number });

function heatCell(cell, [wide, tall], rank, { name, text, value, range: [least, most] }) {
  const v = value(rank);
  // Means of one value differ in their last digits.
  const share = known(v) && most - least > 1e-9 * Math.abs(most) ? (v - least) / (most - least) : 0;
  withTip(cell.append('path').attr('d', `M0,0h${wide - 1.5}v${tall - 1}h${1.5 - wide}Z`)
    .style('fill', known(v) ? `color-mix(in srgb, var(--heat) ${Math.round(6 + 69 * share)}%, var(--panel))` : 'none'),
  () => `${rankName(rank)} on ${rank.host || UNKNOWN}${rank.members ? `\nranks ${shortened(rank.members, 80)}` : ''}\n${worded(name)}: ${text(v)}`);
  if (tall > 20) {
    cell.append('text').attr('x', wide / 2).attr('y', tall / 2).attr('dy', '.35em').attr('text-anchor', 'middle')
      .style('font-size', '11px').style('pointer-events', 'none').text(text(v));
  }
}

function heatMap(parent, ranks, columns, options) {
  const tall = ranks.length <= 32 ? 22 : ranks.length <= 128 ? 12 : 5;
  const left = Math.max(70, 16 + 6.2 * d3.max(ranks, (rank) => rankName(rank).length));
  const wide = (WIDTH - left - 10) / columns.length;
  const heads = columns.map((c) => wrapped(worded(c.name), Math.max(8, Math.floor(wide / 6.2))));
  const top = 10 + 13 * d3.max(heads, (lines) => lines.length);
  const svg = figure(parent, { ...options, height: top + ranks.length * tall + 8, rows: ranks,
    columns: [...rankColumnsOf(ranks), ...columns.map((c) => column(c.name, (r) => c.text(c.value(r))))] });
  columns.forEach((metric, c) => {
    heads[c].forEach((line, i) => svg.append('text').attr('class', 'quiet').style('font-size', '11px')
      .attr('x', left + (c + 0.5) * wide).attr('y', top - 8 - 13 * (heads[c].length - 1 - i)).attr('text-anchor', 'middle').text(line));
    ranks.forEach((rank, r) =>
      heatCell(svg.append('g').attr('transform', `translate(${left + c * wide},${top + r * tall})`), [wide, tall], rank, metric));
  });
  const every = Math.ceil(11 / tall);
  ranks.forEach((rank, r) => {
    if (r % every === 0) {
      svg.append('text').attr('x', left - 8).attr('y', top + (r + 0.5) * tall).attr('dy', '.35em').attr('text-anchor', 'end')
        .style('font-size', '11px').text(rankName(rank));
    }
  });
  return svg;
}
