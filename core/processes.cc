#include "core/processes.h"

namespace reprise {
namespace {

class LoneProcess final : public Processes {
 public:
  [[nodiscard]] int index() const override { return 0; }
  [[nodiscard]] int count() const override { return 1; }
  Result<std::vector<std::string>> Exchange(const Result<std::string>& mine) override {
    REPRISE_TRY(mine);
    return std::vector<std::string>{*mine};
  }
};

}  // namespace

Status Processes::Agree(const Status& mine) {
  REPRISE_TRY(Exchange(mine ? Result<std::string>() : tl::unexpected<Error>(mine.error())));
  return {};
}

Processes& OneProcess() {
  static LoneProcess alone;
  return alone;
}

ItemRange OwnShare(const Processes& processes, std::size_t count) {
  const auto index = static_cast<std::size_t>(processes.index());
  const auto of = static_cast<std::size_t>(processes.count());
  return {count * index / of, count * (index + 1) / of};
}

}  // namespace reprise
