// How each column of a block is coded. Only et_schema/columns sees this.
#pragma once

#include "et_schema/columns/block.h"

namespace reprise::columns {

// Finds the columns of times and dependencies, by the tags and attribute names of
// docs/et_format.md, and sets the stages. A trace of another kind has none: its columns are coded
// without.
void FindTimes(Block& block);
// Tries bases and contexts on the first values of each column and keeps what costs least. Texts and
// shapes must be numbered as they first appear.
void ChoosePlans(Block& block);

// The columns in the order in which they are coded.
[[nodiscard]] std::vector<std::uint32_t> CodingOrder(const Block& block);
// Whether a field's first column holds indices of texts.
[[nodiscard]] bool HoldsTexts(const Field& field);

}  // namespace reprise::columns
