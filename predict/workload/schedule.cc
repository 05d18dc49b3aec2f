#include "predict/workload/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

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

// Of schedules that leave gradients of weights to passes of their own.
Status CheckLaterWeights(const Workload& w) {
  const Layout& l = w.layout;
  if (l.pp < 2) {
    return BadInput(fmt::format(
        "schedule \"{}\" fills the bubble of a pipeline, and needs one (\"pp\" above 1)",
        w.schedule));
  }
  if (l.zero() > 1) {
    return BadInput(fmt::format(
        "schedule \"{}\" computes gradients of weights after their backward pass; {} them "
        "within it: take \"zero\" 0 or 1",
        w.schedule, l.fsdp ? "\"fsdp\" scatters" : "\"zero\" 2 scatters"));
  }
  for (const auto& [name, on] : {std::pair("tp", w.overlap.tp), std::pair("grad", w.overlap.grad),
                                 std::pair("param", w.overlap.param)}) {
    if (on) {
      return BadInput(
          fmt::format("schedule \"{}\" has no \"overlap\", and {} is given: gradients of "
                      "weights come after the passes beside whose products it would be",
                      w.schedule, name));
    }
  }
  return {};
}

Status CheckZeroBubble(const Workload& w) {
  REPRISE_TRY(CheckOneChunk(w));
  return CheckLaterWeights(w);
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
    passes.back().leaves_weights = !pass.forward;
    if (!pass.forward && pass.batch >= stage) {
      passes.push_back({false, 0, done++, true});
    }
  }
  while (done < batches) {
    passes.push_back({false, 0, done++, true});
  }
  return passes;
}

// A stage's passes through the two chunks of a V, each kind of a chunk in the order of
// micro-batches; those of micro-batches that the job does not have are left out.
class VPasses {
 public:
  explicit VPasses(std::int64_t batches) : batches_(batches) {}

  void Forward(std::int64_t chunk) { Add(Next(forward_, chunk), {.chunk = chunk}); }
  void Backward(std::int64_t chunk) {
    Add(Next(backward_, chunk), {.forward = false, .chunk = chunk});
  }
  // Its weights come later, by Weights.
  void BackwardAlone(std::int64_t chunk) {
    const std::int64_t batch = Next(backward_, chunk);
    Add(batch, {.forward = false, .chunk = chunk, .leaves_weights = true});
    if (batch < batches_) {
      waiting_.push_back({.forward = false, .chunk = chunk, .batch = batch, .of_weights = true});
    }
  }
  // Of the first backward pass that left them, of this chunk or of any.
  // False: none waits.
  bool Weights(std::optional<std::int64_t> chunk = std::nullopt) {
    const auto first = std::ranges::find_if(
        waiting_, [&](const Pass& pass) { return !chunk || pass.chunk == *chunk; });
    if (first == waiting_.end()) {
      return false;
    }
    passes_.push_back(*first);
    waiting_.erase(first);
    return true;
  }
  [[nodiscard]] std::int64_t forward(std::int64_t chunk) const {
    return forward_[static_cast<std::size_t>(chunk)];
  }
  [[nodiscard]] std::vector<Pass> Take() { return std::move(passes_); }

 private:
  using Counts = std::array<std::int64_t, 2>;
  static std::int64_t Next(Counts& counts, std::int64_t chunk) {
    return counts[static_cast<std::size_t>(chunk)]++;
  }
  void Add(std::int64_t batch, Pass pass) {
    pass.batch = batch;
    if (batch < batches_) {
      passes_.push_back(pass);
    }
  }

  std::int64_t batches_;
  Counts forward_ = {}, backward_ = {};
  std::vector<Pass> passes_, waiting_;
};

// ZB-V (Qi et al. 2023, arXiv 2401.10241; the order is PyTorch's
// ScheduleZBVZeroBubble): a stage waits for no other where forward, backward and weights' passes
// take equal times.
std::vector<Pass> ZeroBubbleV(std::int64_t stage, std::int64_t stages, std::int64_t batches,
                              std::int64_t /*chunks*/) {
  VPasses passes(batches);
  const auto both = [&passes](std::int64_t chunk) {
    passes.BackwardAlone(chunk);
    passes.Weights(chunk);
  };
  const std::int64_t after = stages - stage;  // with this one
  for (std::int64_t i = 0; i < 2 * after - 1; ++i) {
    passes.Forward(0);
  }
  for (std::int64_t i = 0; i < stage; ++i) {
    passes.Forward(1);
    passes.Forward(0);
  }
  for (std::int64_t i = 0; i < after; ++i) {
    passes.Forward(1);
    both(1);
  }
  const std::int64_t total = std::max(batches, 2 * stages - 1);
  while (passes.forward(1) < total) {
    if (passes.forward(0) < total) {
      passes.Forward(0);
    }
    both(0);
    passes.Forward(1);
    both(1);
  }
  for (std::int64_t i = 0; i < stage; ++i) {
    passes.BackwardAlone(0);
    passes.BackwardAlone(1);
  }
  for (std::int64_t i = 0; i < after; ++i) {
    passes.BackwardAlone(0);
    passes.Weights(0);
  }
  while (passes.Weights(1)) {
  }
  while (passes.Weights(0)) {
  }
  return passes.Take();
}

Status CheckDualPipeV(const Workload& w) {
  REPRISE_TRY(CheckLaterWeights(w));
  if (w.micro_batches() < 2 * w.layout.pp) {
    return BadInput(
        fmt::format("schedule \"dualpipe-v\" takes {} micro-batches or more (two a stage), not {}",
                    2 * w.layout.pp, w.micro_batches()));
  }
  return {};
}

// DualPipeV (DeepSeek-AI 2025, github.com/deepseek-ai/DualPipe; after Qi et al.'s "cut in half" of
// DualPipe, DeepSeek-V3, arXiv 2412.19437, section 3.2.1): its eight phases.
std::vector<Pass> DualPipeV(std::int64_t stage, std::int64_t stages, std::int64_t batches,
                            std::int64_t /*chunks*/) {
  VPasses passes(batches);
  const std::int64_t later = stages - stage - 1;
  for (std::int64_t i = 0; i < 2 * later; ++i) {
    passes.Forward(0);
  }
  for (std::int64_t i = 0; i <= stage; ++i) {
    passes.Forward(0);
    passes.Forward(1);
  }
  for (std::int64_t i = 0; i < later; ++i) {
    passes.BackwardAlone(1);
    passes.Weights();
    passes.Forward(1);
  }
  for (std::int64_t i = 0; i < batches - 2 * stages + stage + 1; ++i) {
    passes.Forward(0);
    passes.Backward(1);
    passes.Forward(1);
    passes.Backward(0);
  }
  for (std::int64_t i = 0; i < later; ++i) {
    passes.Backward(1);
    passes.Forward(1);
    passes.Backward(0);
  }
  // From the middle of these on weights are left for the bubbles that follow.
  const std::int64_t half = (stage + 1) / 2;
  for (std::int64_t i = 0; i <= stage; ++i) {
    const bool before = i < half || (i == half && stage % 2 == 0);
    before ? passes.Backward(1) : passes.BackwardAlone(1);
    i < half ? passes.Backward(0) : passes.BackwardAlone(0);
  }
  for (std::int64_t i = 0; i < later; ++i) {
    passes.Weights();
    passes.BackwardAlone(0);
  }
  while (passes.Weights()) {
  }
  return passes.Take();
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
  const bool leaves = std::ranges::any_of(passes, &Pass::leaves_weights);
  const std::int64_t late = leaves ? stage : 0;  // gradients of weights
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
                       true, CheckZeroBubble, ZeroBubble},
      PipelineSchedule{"zb-v",
                       "two chunks of layers a stage in a V, gradients of weights in the bubble: "
                       "none is left where passes take equal times",
                       false, CheckLaterWeights, ZeroBubbleV, true},
      PipelineSchedule{"dualpipe-v",
                       "two chunks of layers a stage in a V: a forward pass through one with a "
                       "backward pass through the other",
                       false, CheckDualPipeV, DualPipeV, true},
      PipelineSchedule{
          "interleaved",
          "1f1b with V chunks of layers a stage: the bubble is V times shorter (interleaved:V)",
          true, CheckInterleaved, Interleaved}};
  return kSchedules;
}

const PipelineSchedule* FindSchedule(std::string_view name) {
  return FindByName(BuiltinSchedules(), name);
}

std::string ScheduleText(const Workload& w) {
  return w.virtual_stages > 1 && !FindSchedule(w.schedule)->v_shaped
             ? fmt::format("{}:{}", w.schedule, w.virtual_stages)
             : w.schedule;
}

std::int64_t NumberOfChunk(const Workload& w, std::int64_t stage, std::int64_t chunk) {
  return chunk == 1 && FindSchedule(w.schedule)->v_shaped ? 2 * w.layout.pp - 1 - stage
                                                          : chunk * w.layout.pp + stage;
}

std::int64_t StageOfChunk(const Workload& w, std::int64_t number) {
  return number >= w.layout.pp && FindSchedule(w.schedule)->v_shaped ? 2 * w.layout.pp - 1 - number
                                                                     : number % w.layout.pp;
}

}  // namespace reprise
