// all_to_all: rank i ends with all members' i-th block, in group order; blocks may differ in size.
#include "collectives/ops/blocks.h"

namespace reprise {
namespace {

class AllToAll final : public Collective {
 public:
  [[nodiscard]] CommKind kind() const override { return CommKind::kAllToAll; }

  void FillInput(const CommSpec& spec, const GroupPlace& place,
                 std::span<std::byte> in) const override {
    const CheckedLayout checked(spec, place);
    if (!checked.valid) {
      return;
    }
    FillBlocks(spec, checked, place.size(), in,
               [&](int destination) { return MovedValues(place.rank, destination); });
  }

  [[nodiscard]] CheckResult Check(const CommSpec& spec, const GroupPlace& place,
                                  const std::vector<std::vector<std::int64_t>>& in_splits_of,
                                  std::span<const std::byte> out) const override {
    CommSpec complete = spec;
    if (spec.out_splits.empty() && in_splits_of.size() == place.ranks.size()) {
      const auto me = static_cast<std::size_t>(place.rank);
      const auto mine = [me](const std::vector<std::int64_t>& splits) {
        return me < splits.size() ? splits[me] : 0;
      };
      std::transform(in_splits_of.begin(), in_splits_of.end(),
                     std::back_inserter(complete.out_splits), mine);
    }
    const CheckedLayout checked(complete, place);
    if (!checked.valid) {
      return InvalidSpec();
    }
    return CheckBlocks(complete, checked, place.size(), out,
                       [&](int source) { return MovedValues(source, place.rank); });
  }
};

}  // namespace

std::unique_ptr<Collective> MakeAllToAll() { return std::make_unique<AllToAll>(); }

}  // namespace reprise
