// Whether the ranks of a folded set agree on their transfers, without one graph a rank.
#pragma once

#include <string>
#include <vector>

#include "et_schema/graph.h"
#include "et_schema/rank_classes.h"

namespace reprise {

// `graphs` are one rank of each class, in the order of the classes. Groups whose members are of the
// same classes in the same order behave alike: one of them is compared. Appends what is wrong.
void CheckFoldedTransfers(const RankClasses& classes, const std::vector<Graph>& graphs,
                          std::vector<std::string>& errors);

}  // namespace reprise
