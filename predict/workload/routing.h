// How many tokens each expert gets.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/workload/description.h"

namespace reprise {

// What every rank of a group of expert parallelism sends to each expert, in one layer and
// micro-batch, of `tokens` of its own: experts' counts, which the capacity limits. All ranks send
// the same, so that ranks with the same experts do the same.
[[nodiscard]] std::vector<std::int64_t> TokensOfExperts(const Workload& workload,
                                                        std::int64_t tokens, std::int64_t layer,
                                                        std::int64_t batch);
// Whether all members of a group get the same in every layer and micro-batch.
[[nodiscard]] bool EvenRouting(const Workload& workload, std::int64_t tokens);

}  // namespace reprise
