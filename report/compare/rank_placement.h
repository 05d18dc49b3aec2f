// How a rank's place on its host differs from the other ranks' places.
#pragma once

#include <string>
#include <vector>

#include "core/placement.h"

namespace reprise {

// Sentences without a subject's name and full stop, "its device is on NUMA node 1, …"; none where
// nothing differs, or where it is not known. A host differs where the rank is alone with it while
// others share theirs; the rest differs where most of `others` have it otherwise.
[[nodiscard]] std::vector<std::string> PlacementDifferences(
    const RankPlacement& of, const std::vector<const RankPlacement*>& others);

}  // namespace reprise
