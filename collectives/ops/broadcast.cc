// broadcast: every rank ends with the root's input.
#include "collectives/ops/blocks.h"

namespace reprise {
namespace {

class Broadcast final : public Collective {
 public:
  [[nodiscard]] CommKind kind() const override { return CommKind::kBroadcast; }

  void FillInput(const CommSpec& spec, const GroupPlace& place,
                 std::span<std::byte> in) const override {
    // Every rank writes its own: where the input is also the output, what is not overwritten shows.
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
    return CheckWhole(spec, checked.layout, MovedValues(checked.layout.root, 0), 0,
                      checked.layout.out_bytes, out);
  }
};

}  // namespace

std::unique_ptr<Collective> MakeBroadcast() { return std::make_unique<Broadcast>(); }

}  // namespace reprise
