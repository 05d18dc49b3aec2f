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

Status CheckZeroBubble(const Workload& w) {
  REPRISE_TRY(CheckOneChunk(w));
  const Layout& l = w.layout;
  if (l.pp < 2) {
    return BadInput(
        "schedule \"zb-h1\" fills the bubble of a pipeline, and needs one (\"pp\" above 1)");
  }
  if (l.zero() > 1) {
    return BadInput(fmt::format(
        "schedule \"zb-h1\" computes gradients of weights after their backward pass; {} them "
        "within it: take \"zero\" 0 or 1",
        l.fsdp ? "\"fsdp\" scatters" : "\"zero\" 2 scatters"));
  }
  for (const auto& [name, on] : {std::pair("tp", w.overlap.tp), std::pair("grad", w.overlap.grad),
                                 std::pair("param", w.overlap.param)}) {
    if (on) {
      return BadInput(
          fmt::format("schedule \"zb-h1\" has no \"overlap\", and {} is given: gradients of "
                      "weights come after the passes beside whose products it would be",
                      name));
    }
  }
  return {};
}

// ZB-H1 (Qi et al. 2023, arXiv 2401.10241, section 2.1): 1F1B, whose backward pass leaves out the
// gradients of weights. These come as many micro-batches later as there are stages before this
// one, so that no stage has more micro-batches under way than the first has with 1F1B.
std::vector<Pass> ZeroBubble(std::int64_t stage, std::int64_t stages, std::int64_t batches,
                             std::int64_t chunks) {
  std::vector<Pass> passes;
  std::int64_t done = 0;
  for (const Pass& pass : OneForwardOneBackward(stage, stages, batches, chunks)) {
    passes.push_back(pass);
    if (!pass.forward && pass.batch >= stage) {
      passes.push_back({false, 0, done++, true});
    }
  }
  while (done < batches) {
    passes.push_back({false, 0, done++, true});
  }
  return passes;
}

// Place of the forward pass that comes after so many others.
std::size_t PlaceOfForward(const std::vector<Pass>& passes, std::int64_t before) {
  std::size_t at = 0;
  for (; !passes[at].forward || before > 0; ++at) {
    before -= passes[at].forward ? 1 : 0;
  }
  return at;
}

}  // namespace

std::optional<RepeatedPasses> RepeatedPassesOf(const Workload& w, std::int64_t stage) {
  const PipelineSchedule& schedule = *FindSchedule(w.schedule);
  if (!schedule.alternates) {
    return std::nullopt;
  }
  const std::int64_t stages = w.layout.pp;
  const std::int64_t chunks = w.virtual_stages;
  // Forward passes alone, then a backward pass after each, in rounds that are alike.
  const std::vector<Pass> passes = schedule.passes(stage, stages, 8 * stages, chunks);
  const std::int64_t ahead = std::ranges::find(passes, false, &Pass::forward) - passes.begin() - 1;
  RepeatedPasses out{.more_batches = chunks > 1 ? stages : 1};
  const std::int64_t round = out.more_batches * chunks;
  const std::int64_t rounds_ahead = (ahead + round - 1) / round;
  // The round before the repeated one takes micro-batches back whose forward passes were in rounds,
  // too, and follows two that are not the first.
  const std::int64_t late = schedule.splits_backward ? stage : 0;  // gradients of weights
  // All that comes once for all is there after the first micro-batch's last pass, and the repeated
  // round begins after what it refers to.
  const std::int64_t number = std::max<std::int64_t>(rounds_ahead + 2 * late + 1, 2) + 1;
  out.batches = (number + 1 + std::max<std::int64_t>(rounds_ahead, 1)) * out.more_batches;
  const auto start_of = [&](std::int64_t of_round) {
    return PlaceOfForward(passes, ahead + round * of_round);
  };
  out.earliest = start_of(1 + late);
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
      PipelineSchedule{"zb-h1",
                       "1f1b with gradients of weights in the bubble, which is a third as long",
                       true, CheckZeroBubble, ZeroBubble, true},
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
