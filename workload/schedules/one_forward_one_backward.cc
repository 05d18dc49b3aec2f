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
  [[nodiscard]] std::vector<Pass> PassesOf(std::int64_t stage, std::int64_t stages,
                                           std::int64_t batches, std::int64_t) const override {
    return ByTurns(batches, std::min(stages - 1 - stage, batches));
  }
};

}  // namespace

std::unique_ptr<PipelineSchedule> MakeOneForwardOneBackward() {
  return std::make_unique<OneForwardOneBackward>();
}

}  // namespace reprise
