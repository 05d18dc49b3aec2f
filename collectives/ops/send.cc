// send: the data that the receiving rank's recv expects of this one.
#include "collectives/ops/blocks.h"

namespace reprise {
namespace {

class Send final : public Collective {
 public:
  [[nodiscard]] CommKind kind() const override { return CommKind::kSend; }

  void FillInput(const CommSpec& spec, const GroupPlace& place,
                 std::span<std::byte> in) const override {
    const CheckedLayout checked(spec, place);
    if (!checked.valid) {
      return;
    }
    const auto bytes = static_cast<std::size_t>(spec.in_bytes);
    WritePattern(spec.dtype, MovedValues(place.rank, checked.layout.peer), 0,
                 in.first(std::min(bytes, in.size())));
  }

  [[nodiscard]] CheckResult Check(const CommSpec& spec, const GroupPlace& place,
                                  const std::vector<std::vector<std::int64_t>>& in_splits_of,
                                  std::span<const std::byte> out) const override {
    (void)spec;
    (void)place;
    (void)in_splits_of;
    (void)out;
    return {};
  }
};

}  // namespace

std::unique_ptr<Collective> MakeSend() { return std::make_unique<Send>(); }

}  // namespace reprise
