#include "collectives/algorithms/algorithm.h"

#include <algorithm>

namespace reprise {

#define ALGORITHM(name) std::unique_ptr<Algorithm> Make##name();
#include "collectives/algorithms/builtin.def"
#undef ALGORITHM

std::span<const std::unique_ptr<Algorithm>> BuiltinAlgorithms() {
  static const std::unique_ptr<Algorithm> algorithms[] = {
#define ALGORITHM(name) Make##name(),
#include "collectives/algorithms/builtin.def"
#undef ALGORITHM
  };
  return algorithms;
}

const Algorithm* FindAlgorithm(std::string_view name) {
  const auto all = BuiltinAlgorithms();
  const auto found = std::ranges::find(all, name, &Algorithm::name);
  return found == all.end() ? nullptr : found->get();
}

}  // namespace reprise
