#include <algorithm>

#include "collectives/algorithms/algorithm.h"

namespace reprise {

#define ALGORITHM(name) std::unique_ptr<Algorithm> Make##name();
#include "collectives/algorithms/builtin.def"
#undef ALGORITHM

AlgorithmRegistry::AlgorithmRegistry() {
#define ALGORITHM(name) algorithms_.push_back(Make##name());
#include "collectives/algorithms/builtin.def"
#undef ALGORITHM
}

const AlgorithmRegistry& AlgorithmRegistry::Builtin() {
  static const AlgorithmRegistry registry;
  return registry;
}

const Algorithm* AlgorithmRegistry::Find(std::string_view name) const {
  const auto it = std::ranges::find_if(algorithms_,
                                       [name](const auto& entry) { return entry->name() == name; });
  return it == algorithms_.end() ? nullptr : it->get();
}

}  // namespace reprise
