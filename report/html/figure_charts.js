// Sweeps over sides, drawn from any set of runs.
const FIGURE_SECTIONS = {};
