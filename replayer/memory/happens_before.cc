#include "replayer/memory/happens_before.h"

#include <algorithm>

namespace reprise {

HappensBefore::HappensBefore(const Graph& graph, const Plan& plan)
    : actors_(std::min(static_cast<std::uint32_t>(plan.actors.size()), kMaxActors)),
      position_(graph.size()),
      clocks_(std::size_t{graph.size()} * actors_) {
  std::uint32_t position = 0;
  for (const Graph::Index i : graph.order()) {
    position_[i] = ++position;
    std::uint32_t* const mine = clocks_.data() + std::size_t{i} * actors_;
    for (const std::uint32_t dep : plan.DepsOf(i)) {
      const std::span<const std::uint32_t> known = Before(dep);
      for (std::uint32_t a = 0; a < actors_; ++a) {
        mine[a] = std::max(mine[a], known[a]);
      }
      const std::uint32_t actor = plan.work[dep].actor;
      if (actor < actors_ && plan.work[dep].type != WorkType::kTransfer) {
        mine[actor] = std::max(mine[actor], position_[dep]);
      }
    }
  }
}

}  // namespace reprise
