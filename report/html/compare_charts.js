// What differs between the sides of a comparison.
const COMPARE_SECTIONS = [];
