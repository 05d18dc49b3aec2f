// The way out of a layout that breaks a rule: the nearest one that keeps them all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "workload/description.h"

namespace reprise {

// The rule that the workload breaks, without a way out.
[[nodiscard]] Status CheckRules(const Workload& workload);

struct NearestLayout {
  Workload workload;                 // keeps all rules
  std::vector<std::string> changes;  // "\"tp\" 2": fields of a description, with their new values
};
// Fewest fields changed, of those the smallest factors. Given layers of stages stay where they can.
// At most three fields change, within some tens of values of each; then the plain layout is tried,
// data parallelism alone, and after that sizes of the model. `ranks`: their number stays, and data
// parallelism follows. None: nothing of that works.
[[nodiscard]] std::optional<NearestLayout> FindNearestLayout(const Workload& workload,
                                                             std::optional<std::int64_t> ranks);

// "; the nearest layout that works has \"tp\" 2 and \"global\" 6"; empty if there is none.
[[nodiscard]] std::string NearestLayoutText(const Workload& workload,
                                            std::optional<std::int64_t> ranks);

}  // namespace reprise
