#include "workload/parallel/parallelism.h"

#include <algorithm>
#include <cstdlib>

namespace reprise {

const KindRegistry<Parallelism>& BuiltinParallelisms() {
  static const KindRegistry<Parallelism> builtin = [] {
    KindRegistry<Parallelism> all;
#define PARALLELISM(name) all.push_back(Make##name());
#include "workload/parallelisms.def"
#undef PARALLELISM
    return all;
  }();
  return builtin;
}

GroupRole ByRule(const Layout& layout, std::string role, std::string description,
                 std::vector<std::size_t> axes, std::vector<std::int64_t> at) {
  GroupRole out;
  out.role = std::move(role);
  out.description = std::move(description);
  out.mesh = MeshOf(layout);
  out.axes = std::move(axes);
  out.at = std::move(at);
  return out;
}

}  // namespace reprise
