#include "predict/workload/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "predict/workload/registry.h"

namespace reprise {
namespace {

// `total` passes of each direction: the k-th backward pass is after the (k + ahead)-th forward
// pass, or after all. `pass_of` knows the k-th of a direction.
template <typename PassOf>
std::vector<Pass> ByTurns(std::int64_t total, std::int64_t ahead, const PassOf& pass_of) {
  std::vector<Pass> passes;
  for (std::int64_t i = 0; i < total + ahead; ++i) {
    if (i < total) {
      passes.push_back(pass_of(true, i));
    }
    if (i >= ahead) {
      passes.push_back(pass_of(false, i - ahead));
    }
  }
  return passes;
}

Pass OfOneChunk(bool forward, std::int64_t k) { return {forward, 0, k}; }

Status CheckOneChunk(const Workload& w) {
  if (w.virtual_stages != 1) {
    return BadInput(fmt::format(
        "schedule \"{}\" has one chunk of layers a stage, not {}; \"interleaved:{}\" has several",
        w.schedule, w.virtual_stages, w.virtual_stages));
  }
  return {};
}

// Huang et al. 2019, arXiv 1811.06965.
std::vector<Pass> AllForwardFirst(std::int64_t /*stage*/, std::int64_t /*stages*/,
                                  std::int64_t batches, std::int64_t /*chunks*/) {
  return ByTurns(batches, batches, OfOneChunk);
}

// As many forward passes as there are stages after this one, then forward and backward passes by
// turns (PipeDream-Flush; Narayanan et al. 2021, arXiv 2104.04473).
std::vector<Pass> OneForwardOneBackward(std::int64_t stage, std::int64_t stages,
                                        std::int64_t batches, std::int64_t /*chunks*/) {
  return ByTurns(batches, std::min(stages - 1 - stage, batches), OfOneChunk);
}

Status CheckInterleaved(const Workload& w) {
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

// 1F1B over several chunks of layers a stage (Narayanan et al. 2021, arXiv 2104.04473; the order is
// Megatron-LM's forward_backward_pipelining_with_interleaving).
std::vector<Pass> Interleaved(std::int64_t stage, std::int64_t stages, std::int64_t batches,
                              std::int64_t chunks) {
  const std::int64_t total = batches * chunks;
  const std::int64_t round = stages * chunks;
  // The k-th pass of a kind: a round takes `stages` micro-batches through all chunks.
  const auto pass = [&](bool forward, std::int64_t k) {
    const std::int64_t chunk = k % round / stages;
    return Pass{forward, forward ? chunk : chunks - 1 - chunk, k / round * stages + k % stages};
  };
  const std::int64_t ahead =
      batches == stages ? total : std::min(total, (stages - stage - 1) * 2 + (chunks - 1) * stages);
  return ByTurns(total, ahead, pass);
}

}  // namespace

std::optional<RepeatedPasses> RepeatedPassesOf(const Workload& w, std::int64_t stage) {
  const PipelineSchedule& schedule = *FindSchedule(w.schedule);
  if (!schedule.alternates) {
    return std::nullopt;
  }
  const std::int64_t stages = w.layout.pp;
  const std::int64_t chunks = w.virtual_stages;
  // Forward passes alone, then pairs of a forward and a backward pass, in rounds that are alike.
  const std::vector<Pass> passes = schedule.passes(stage, stages, 4 * stages, chunks);
  const std::int64_t ahead = std::ranges::find(passes, false, &Pass::forward) - passes.begin() - 1;
  RepeatedPasses out{.more_batches = chunks > 1 ? stages : 1};
  const std::int64_t round = out.more_batches * chunks;
  const std::int64_t rounds_ahead = (ahead + round - 1) / round;
  // The round before the repeated one takes micro-batches back whose forward passes were in rounds,
  // too, and follows two that are not the first.
  const std::int64_t number = std::max<std::int64_t>(rounds_ahead + 1, 2) + 1;
  out.batches = (number + 1 + std::max<std::int64_t>(rounds_ahead, 1)) * out.more_batches;
  const auto start_of = [&](std::int64_t of_round) {
    return static_cast<std::size_t>(ahead + 2 * round * of_round);
  };
  out.earliest = start_of(1);
  out.begin = start_of(number);
  out.end = start_of(number + 1);
  return out.batches <= w.micro_batches() ? std::optional(out) : std::nullopt;
}

std::span<const PipelineSchedule> BuiltinSchedules() {
  static constexpr std::array kSchedules = {
      PipelineSchedule{"gpipe", "all forward passes, then all backward passes", false,
                       CheckOneChunk, AllForwardFirst},
      PipelineSchedule{
          "1f1b", "forward and backward passes by turns: as few micro-batches in flight as stages",
          true, CheckOneChunk, OneForwardOneBackward},
      PipelineSchedule{
          "interleaved",
          "1f1b with V chunks of layers a stage: the bubble is V times shorter (interleaved:V)",
          true, CheckInterleaved, Interleaved}};
  return kSchedules;
}

const PipelineSchedule* FindSchedule(std::string_view name) {
  return FindByName(BuiltinSchedules(), name);
}

}  // namespace reprise
