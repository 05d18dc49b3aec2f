// 1F1B over several chunks of layers a stage (Narayanan et al. 2021, arXiv 2104.04473; the order is
// Megatron-LM's forward_backward_pipelining_with_interleaving).
#include <fmt/format.h>

#include <algorithm>

#include "workload/schedules/schedule.h"

namespace reprise {
namespace {

class Interleaved final : public PipelineSchedule {
 public:
  [[nodiscard]] std::string_view name() const override { return "interleaved"; }
  [[nodiscard]] std::string_view help() const override {
    return "1f1b with V chunks of layers a stage: the bubble is V times shorter (interleaved:V)";
  }
  [[nodiscard]] Status Check(const Workload& w) const override {
    if (w.virtual_stages < 2) {
      return BadInput(
          "schedule \"interleaved\" needs the number of chunks of a stage, 2 or more, as in "
          "\"interleaved:2\"");
    }
    if (w.layout.pp < 2) {
      return BadInput("schedule \"interleaved\" needs pipeline parallelism (\"pp\" above 1)");
    }
    if (w.micro_batches() % w.layout.pp != 0) {
      return BadInput(fmt::format(
          "schedule \"interleaved\" takes a multiple of {} micro-batches (the stages), not {}",
          w.layout.pp, w.micro_batches()));
    }
    return {};
  }
  [[nodiscard]] std::vector<Pass> PassesOf(std::int64_t stage, std::int64_t stages,
                                           std::int64_t batches,
                                           std::int64_t chunks) const override {
    const std::int64_t total = batches * chunks;
    const std::int64_t round = stages * chunks;
    // The k-th pass of a kind: a round takes `stages` micro-batches through all chunks.
    const auto pass = [&](bool forward, std::int64_t k) {
      const std::int64_t chunk = k % round / stages;
      return Pass{forward, forward ? chunk : chunks - 1 - chunk, k / round * stages + k % stages};
    };
    const std::int64_t ahead =
        batches == stages ? total
                          : std::min(total, (stages - stage - 1) * 2 + (chunks - 1) * stages);
    return ByTurns(total, ahead, pass);
  }
};

}  // namespace

std::unique_ptr<PipelineSchedule> MakeInterleaved() { return std::make_unique<Interleaved>(); }

}  // namespace reprise
