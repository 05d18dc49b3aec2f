// A comparison: all of it, or the figures that were asked for.
openPage(() => addSections(COMPARE_SECTIONS));
