// All forward passes, then all backward passes (Huang et al. 2019, arXiv 1811.06965).
#include "workload/schedules/schedule.h"

namespace reprise {
namespace {

class GPipe final : public PipelineSchedule {
 public:
  [[nodiscard]] std::string_view name() const override { return "gpipe"; }
  [[nodiscard]] std::string_view help() const override {
    return "all forward passes, then all backward passes";
  }
  [[nodiscard]] std::vector<Pass> PassesOf(std::int64_t, std::int64_t, std::int64_t batches,
                                           std::int64_t) const override {
    return ByTurns(batches, batches);
  }
};

}  // namespace

std::unique_ptr<PipelineSchedule> MakeGPipe() { return std::make_unique<GPipe>(); }

}  // namespace reprise
