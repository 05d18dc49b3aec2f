// reduce: the root ends with the reduction of all inputs; elsewhere nothing is written.
#include "collectives/ops/blocks.h"

namespace reprise {
namespace {

class Reduce final : public Collective {
 public:
  [[nodiscard]] CommKind kind() const override { return CommKind::kReduce; }

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
    return CheckWhole(spec, checked.layout, ReductionResult(spec.dtype, spec.op, place.size()), 0,
                      checked.layout.out_bytes, out);
  }
};

}  // namespace

std::unique_ptr<Collective> MakeReduce() { return std::make_unique<Reduce>(); }

}  // namespace reprise
