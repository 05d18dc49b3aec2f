// As many forward passes as there are stages after this one, then forward and backward passes by
// turns (PipeDream-Flush; Narayanan et al. 2021, arXiv 2104.04473).
#include <algorithm>

#include "workload/schedules/schedule.h"

namespace reprise {
namespace {

class OneForwardOneBackward final : public PipelineSchedule {
 public:
  [[nodiscard]] std::string_view name() const override { return "1f1b"; }
  [[nodiscard]] std::string_view help() const override {
    return "forward and backward passes by turns: as few micro-batches in flight as stages";
  }
  [[nodiscard]] Status Check(const Workload& w) const override { return CheckOneChunk(name(), w); }
  [[nodiscard]] std::vector<Pass> PassesOf(std::int64_t stage, std::int64_t stages,
                                           std::int64_t batches, std::int64_t) const override {
    const std::int64_t ahead = std::min(stages - 1 - stage, batches);
    std::vector<Pass> passes;
    for (std::int64_t i = 0; i < batches + ahead; ++i) {
      if (i < batches) {
        passes.push_back({true, 0, i});
      }
      if (i >= ahead) {
        passes.push_back({false, 0, i - ahead});
      }
    }
    return passes;
  }
};

}  // namespace

std::unique_ptr<PipelineSchedule> MakeOneForwardOneBackward() {
  return std::make_unique<OneForwardOneBackward>();
}

}  // namespace reprise
