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
  [[nodiscard]] Status Check(const Workload& w) const override { return CheckOneChunk(name(), w); }
  [[nodiscard]] std::vector<Pass> PassesOf(std::int64_t, std::int64_t, std::int64_t batches,
                                           std::int64_t) const override {
    std::vector<Pass> passes;
    for (const bool forward : {true, false}) {
      for (std::int64_t batch = 0; batch < batches; ++batch) {
        passes.push_back({forward, 0, batch});
      }
    }
    return passes;
  }
};

}  // namespace

std::unique_ptr<PipelineSchedule> MakeGPipe() { return std::make_unique<GPipe>(); }

}  // namespace reprise
