// recv: ends with what the sending rank had for this one.
#include "collectives/ops/blocks.h"

namespace reprise {
namespace {

class Recv final : public Collective {
 public:
  [[nodiscard]] CommKind kind() const override { return CommKind::kRecv; }

  void FillInput(const CommSpec& spec, const GroupPlace& place,
                 std::span<std::byte> in) const override {
    (void)spec;
    (void)place;
    (void)in;
  }

  [[nodiscard]] CheckResult Check(const CommSpec& spec, const GroupPlace& place,
                                  const std::vector<std::vector<std::int64_t>>& in_splits_of,
                                  std::span<const std::byte> out) const override {
    (void)in_splits_of;
    const CheckedLayout checked(spec, place);
    if (!checked.valid) {
      return InvalidSpec();
    }
    return CheckWhole(spec, checked.layout, MovedValues(checked.layout.peer, place.rank), 0,
                      checked.layout.out_bytes, out);
  }
};

}  // namespace

std::unique_ptr<Collective> MakeRecv() { return std::make_unique<Recv>(); }

}  // namespace reprise
