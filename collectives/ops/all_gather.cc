// all_gather: every rank ends with all members' input, in group order.
#include "collectives/ops/blocks.h"

namespace reprise {
namespace {

class AllGather final : public Collective {
 public:
  [[nodiscard]] CommKind kind() const override { return CommKind::kAllGather; }

  void FillInput(const CommSpec& spec, const GroupPlace& place,
                 std::span<std::byte> in) const override {
    const auto bytes = static_cast<std::size_t>(spec.in_bytes);
    WritePattern(spec.dtype, MovedValues(place.rank, 0), 0, in.first(std::min(bytes, in.size())));
  }

  [[nodiscard]] CheckResult Check(const CommSpec& spec, const GroupPlace& place,
                                  const std::vector<std::vector<std::int64_t>>& in_splits_of,
                                  std::span<const std::byte> out) const override {
    (void)in_splits_of;
    const CheckedLayout checked(spec, place);
    if (!checked.valid) {
      return InvalidSpec();
    }

    return CheckBlocks(spec, checked, place.size(), out,
                       [](int source) { return MovedValues(source, 0); });
  }
};

}  // namespace

std::unique_ptr<Collective> MakeAllGather() { return std::make_unique<AllGather>(); }

}  // namespace reprise
