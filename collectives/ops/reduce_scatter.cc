// reduce_scatter: rank i ends with the reduction of all members' i-th block.
#include "collectives/ops/blocks.h"

namespace reprise {
namespace {

class ReduceScatter final : public Collective {
 public:
  [[nodiscard]] CommKind kind() const override { return CommKind::kReduceScatter; }

  void FillInput(const CommSpec& spec, const GroupPlace& place,
                 std::span<std::byte> in) const override {
    const auto bytes = static_cast<std::size_t>(spec.in_bytes);
    WritePattern(spec.dtype, ReductionInput(spec.dtype, spec.op, place.rank, place.size()), 0,
                 in.first(std::min(bytes, in.size())));
  }

  [[nodiscard]] CheckResult Check(const CommSpec& spec, const GroupPlace& place,
                                  const std::vector<std::vector<std::int64_t>>& in_splits_of,
                                  std::span<const std::byte> out) const override {
    (void)in_splits_of;
    const CheckedLayout checked(spec, place);
    if (!checked.valid) {
      return InvalidSpec();
    }
    // The pattern runs through the whole input: this block starts in its middle.
    std::int64_t before = 0;
    for (int i = 0; i < place.rank; ++i) {
      before += checked.InBlock(i);
    }
    return CheckWhole(spec, checked.layout, ReductionResult(spec.dtype, spec.op, place.size()),
                      before / checked.layout.element_bytes, checked.layout.out_bytes, out);
  }
};

}  // namespace

std::unique_ptr<Collective> MakeReduceScatter() { return std::make_unique<ReduceScatter>(); }

}  // namespace reprise
