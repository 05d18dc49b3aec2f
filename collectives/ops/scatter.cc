// scatter: rank i ends with the i-th block of the root's input.
#include "collectives/ops/blocks.h"

namespace reprise {
namespace {

class Scatter final : public Collective {
 public:
  [[nodiscard]] CommKind kind() const override { return CommKind::kScatter; }

  void FillInput(const CommSpec& spec, const GroupPlace& place,
                 std::span<std::byte> in) const override {
    const CheckedLayout checked(spec, place);
    if (!checked.valid || place.rank != checked.layout.root) {
      return;
    }
    FillBlocks(spec, checked, place.size(), in,
               [&](int destination) { return MovedValues(place.rank, destination); });
  }

  [[nodiscard]] CheckResult Check(const CommSpec& spec, const GroupPlace& place,
                                  const std::vector<std::vector<std::int64_t>>& in_splits_of,
                                  std::span<const std::byte> out) const override {
    (void)in_splits_of;
    const CheckedLayout checked(spec, place);
    if (!checked.valid) {
      return InvalidSpec();
    }
    return CheckWhole(spec, checked.layout, MovedValues(checked.layout.root, place.rank), 0,
                      checked.layout.out_bytes, out);
  }
};

}  // namespace

std::unique_ptr<Collective> MakeScatter() { return std::make_unique<Scatter>(); }

}  // namespace reprise
