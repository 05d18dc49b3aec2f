#include <fmt/format.h>

#include <algorithm>

#include "collectives/communicator.h"
#include "collectives/layout.h"

namespace reprise {

#define COLLECTIVE(name) std::unique_ptr<Collective> Make##name();
#include "collectives/builtin.def"
#undef COLLECTIVE

CollectiveRegistry::CollectiveRegistry() {
#define COLLECTIVE(name) collectives_.push_back(Make##name());
#include "collectives/builtin.def"
#undef COLLECTIVE
}

const CollectiveRegistry& CollectiveRegistry::Builtin() {
  static const CollectiveRegistry registry;
  return registry;
}

const Collective* CollectiveRegistry::Find(CommKind kind) const {
  const auto it = std::ranges::find_if(collectives_,
                                       [kind](const auto& entry) { return entry->kind() == kind; });
  return it == collectives_.end() ? nullptr : it->get();
}

Status Collective::Verify(const CommSpec& spec, const GroupPlace& place,
                          const std::vector<std::vector<std::int64_t>>& in_splits_of,
                          std::span<const std::byte> out) const {
  const CheckResult result = Check(spec, place, in_splits_of, out);
  if (result.wrong == 0) {
    return {};
  }
  return CheckFailed(fmt::format("{} on rank {}: {} wrong elements of {} bytes; {}", Describe(spec),
                                 place.ranks[static_cast<std::size_t>(place.rank)], result.wrong,
                                 spec.out_bytes, result.first));
}

}  // namespace reprise
