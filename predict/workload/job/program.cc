#include "predict/workload/job/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/input_file.h"

namespace reprise {
namespace {

constexpr std::int64_t kMainThread = 1;

std::string BuiltName(const char* what, const Workload& w) {
  std::string name = w.optimizer == "adamw" ? "AdamW" : w.optimizer == "sgd" ? "SGD" : "Adam";
  return fmt::format("Optimizer.{}#{}.{}", what, name, what);
}

}  // namespace

Status CheckNodeCount(std::uint64_t nodes) {
  const std::uint64_t most = CurrentInputLimits().job_nodes;
  return nodes <= most ? Status{}
                       : BadInput(fmt::format(
                             "a class of ranks has {} nodes or more; at most {} without --limits "
                             "job_nodes=…; describe fewer steps, layers or micro-batches",
                             nodes, most));
}

Program::Program(const Workload& workload, const Place& place, Emitter& emitter)
    : workload_(workload), place_(place), out_(emitter), builder_(workload, place, emitter) {
  const ModelFamily& family = *FindFamily(workload.model.family);
  const std::vector<std::int64_t> layers = workload.LayersOfChunks();
  for (std::int64_t chunk = 0; chunk < workload.virtual_stages; ++chunk) {
    const std::int64_t number = ChunkNumber(chunk);
    const ModelPart part{
        .first = number == 0,
        .last = number == LastChunk(),
        .first_layer = std::accumulate(layers.begin(), layers.begin() + number, std::int64_t{0}),
        .layers = layers[static_cast<std::size_t>(number)],
        .first_units = chunk > 0 && ChunkNumber(0) == 0 ? &chunks_.front() : nullptr};
    chunks_.push_back(family.units(workload, part, place));
    std::int64_t left = workload.recompute_layers > 0 ? workload.recompute_layers : part.layers;
    for (auto& unit : chunks_.back()) {
      unit->recomputed = workload.recompute == Recompute::kFull && unit->is_layer && left-- > 0;
    }
  }
  store_ = std::make_unique<ParameterStore>(workload, emitter, chunks_);
  builder_.on_parameter = [this](Parameter& parameter, const Grad& gradient) {
    store_->AddGradient(parameter, gradient);
  };
}

template <typename Function>
void Program::InRange(std::string_view name, const Function& function) {
  ranges_.push_back(
      {std::string(name), kMainThread, out_.now(), 0, static_cast<std::int32_t>(steps_.size())});
  const std::size_t at = ranges_.size() - 1;
  function();
  ranges_[at].duration_ns = out_.now() - ranges_[at].start_ns;
}

template <typename Hook, typename... More>
void Program::CallHooks(Hook Parallelism::*hook, More&&... more) {
  for (const Parallelism& parallelism : BuiltinParallelisms()) {
    if (parallelism.*hook != nullptr) {
      (parallelism.*hook)(builder_, *store_, more...);
    }
  }
}

Status Program::Run() {
  for (std::int64_t step = 0; step < workload_.steps && out_.status(); ++step) {
    const std::int64_t start = out_.now();
    out_.SetStep(static_cast<std::int32_t>(step));
    builder_.top = fmt::format("ProfilerStep#{}", step);
    REPRISE_TRY(RunStep());
    steps_.push_back({builder_.top, start, 0});  // it has no time
  }
  return out_.status();
}

Status Program::RunStep() {
  out_.facts = {.phase = Phase::kForward};
  InRange(BuiltName("zero_grad", workload_), [this] { store_->BeginStep(builder_); });
  CallHooks(&Parallelism::before_step);
  const std::vector<Pass> passes =
      FindSchedule(workload_.schedule)
          ->passes(place_.pp, workload_.layout.pp, workload_.micro_batches(),
                   workload_.virtual_stages);
  std::vector<std::int64_t> left(static_cast<std::size_t>(workload_.virtual_stages),
                                 workload_.micro_batches());
  for (const Pass& pass : passes) {
    const std::uint64_t before = out_.nodes();
    if (pass.forward) {
      InRange(kForwardPass, [&] { Forward(pass); });
    } else {
      const bool completes = !pass.leaves_weights;
      std::int64_t& of_chunk = left[static_cast<std::size_t>(pass.chunk)];
      of_chunk -= completes ? 1 : 0;
      const bool last = completes && of_chunk == 0;
      InRange(pass.of_weights ? kWeightsPass : kBackwardPass,
              [&] { pass.of_weights ? ComputeWeights(pass, last) : Backward(pass, last); });
    }
    if (workload_.synchronize) {
      out_.Synchronize();
    }
    REPRISE_TRY(out_.status());
    if (&pass == &passes.front()) {  // forward: none of the others is shorter
      REPRISE_TRY(CheckNodeCount((out_.nodes() - before) * passes.size() *
                                 static_cast<std::uint64_t>(workload_.steps)));
    }
  }
  for (auto& [direction, issued] : sends_) {
    out_.Wait(std::exchange(issued, {}));
  }
  out_.facts = {.phase = Phase::kBackward};
  const auto parallelisms = BuiltinParallelisms();
  std::for_each(parallelisms.rbegin(), parallelisms.rend(), [this](const Parallelism& parallelism) {
    if (parallelism.after_backward != nullptr) {
      parallelism.after_backward(builder_, *store_);
    }
  });
  if (workload_.layers_only) {
    return {};
  }
  out_.facts = {.phase = Phase::kOptimizer};
  InRange(BuiltName("step", workload_), [&] {
    RunOptimizer(builder_, *store_);
    CallHooks(&Parallelism::after_optimizer);
  });
  return {};
}

std::string Program::GroupOf(bool forward) const {
  return workload_.DirectionsMeet() && !forward ? "pp_backward" : "pp";
}

std::string Program::ChannelOf(const char* action, const Pass& pass) const {
  std::string channel = fmt::format("{} {}", action, pass.forward ? "forward" : "backward");
  // The chunks of a V send in opposite directions.
  return pass.chunk > 0 && FindSchedule(workload_.schedule)->v_shaped ? channel + " of chunk 1"
                                                                      : channel;
}

bool Program::InParts() const {
  const Layout& l = workload_.layout;
  return l.scatter_gather && l.tp > 1 && !l.sequence_parallel;
}

void Program::SendTo(std::int64_t number, const Pass& pass, const TensorDesc& whole) {
  if (IsOwn(number)) {
    handed_[{number, pass.batch}] = whole;
    return;
  }
  const std::string channel = ChannelOf("send", pass);
  builder_.Op();
  if (!out_.cuda()) {
    out_.Wait(std::exchange(sends_[channel], {}));
  }
  // Every tensor-parallel rank holds the whole, and sends its part of it.
  const TensorDesc tensor =
      InParts() ? out_.Part(whole, 0, {whole.elements / workload_.layout.tp}) : whole;
  const Issued issued =
      builder_.Send(GroupOf(pass.forward), StageOfChunk(workload_, number), channel, tensor);
  if (!out_.cuda()) {
    sends_[channel] = issued;
  }
}

TensorDesc Program::ReceiveFrom(std::int64_t number, const Pass& pass) {
  if (IsOwn(number)) {
    return handed_.extract({ChunkNumber(pass.chunk), pass.batch}).mapped();
  }
  TensorDesc whole =
      out_.New(workload_.model.dtype, FindFamily(workload_.model.family)->hidden_shape(workload_));
  const TensorDesc tensor =
      InParts() ? out_.New(whole.dtype, {whole.elements / workload_.layout.tp}) : whole;
  builder_.Op();
  const Issued issued = builder_.Receive(GroupOf(pass.forward), StageOfChunk(workload_, number),
                                         ChannelOf("receive", pass), tensor);
  out_.Wait(issued);
  if (workload_.synchronize) {
    out_.Synchronize(issued);
  }
  if (InParts()) {
    const TensorDesc flat = out_.Part(whole, 0, {whole.elements});
    out_.Wait(builder_.AllGather("tp", tensor, flat));
  }
  return whole;
}

Var Program::RunUnit(Unit& unit, const Var& given) {
  Builder& b = builder_;
  const bool in_layer = unit.is_layer;
  const auto after_backward = [this, &unit] {
    if (unit.has_backward && builder_.delayed != nullptr) {  // its gradients are complete then
      builder_.Delay([this, &unit] { CallHooks(&Parallelism::after_unit, unit, true); });
    } else if (unit.has_backward) {
      CallHooks(&Parallelism::after_unit, unit, true);
    }
    out_.facts.in_layer = false;
  };
  const auto before_backward = [this, &unit, in_layer] {
    out_.facts.in_layer = in_layer;
    if (unit.has_backward) {
      CallHooks(&Parallelism::before_unit, unit, true);
    }
  };
  const Var x = unit.recomputed ? b.tape->WithGradient(given) : given;
  out_.facts.in_layer = in_layer;
  b.Op();
  CallHooks(&Parallelism::before_unit, unit, false);
  b.layer = unit.layer;
  b.tape->RecordHook(after_backward);
  const auto forward = [&unit, &b](const std::vector<Var>& in) {
    b.layer = unit.layer;
    if (unit.beside == nullptr) {
      return unit.Forward(b, in[0]);
    }
    const Var others = std::exchange(*unit.beside, in[1]);
    Var result = unit.Forward(b, in[0]);
    *unit.beside = others;
    return result;
  };
  std::vector<Var> inputs = {x};
  if (unit.beside != nullptr) {
    inputs.push_back(*unit.beside);
  }
  Var result = unit.recomputed ? Checkpoint(b, inputs, forward) : unit.Forward(b, x);
  unit.has_backward = result.NeedsGradient();
  b.tape->RecordHook(before_backward);
  CallHooks(&Parallelism::after_unit, unit, false);
  out_.facts.in_layer = false;
  return result;
}

void Program::Forward(const Pass& pass) {
  out_.facts = {.phase = Phase::kForward};
  InFlight flight;
  flight.tape = std::make_unique<Tape>(out_, builder_.on_parameter);
  builder_.tape = flight.tape.get();
  builder_.batch = pass.batch;
  const std::int64_t number = ChunkNumber(pass.chunk);
  Var x;
  if (number > 0) {
    x = builder_.tape->Input(ReceiveFrom(number - 1, pass));
  } else if (workload_.layers_only) {
    x = builder_.tape->Input(out_.New(workload_.model.dtype,
                                      FindFamily(workload_.model.family)->hidden_shape(workload_)));
  }
  for (auto& unit : chunks_[static_cast<std::size_t>(pass.chunk)]) {
    x = RunUnit(*unit, x);
  }
  if (number < LastChunk()) {
    SendTo(number + 1, pass, x.tensor);
  }
  flight.result = x;
  flying_[{pass.chunk, pass.batch}] = std::move(flight);
}

void Program::Backward(const Pass& pass, bool last) {
  out_.facts = {.phase = Phase::kBackward};
  InFlight flight = std::move(flying_.at({pass.chunk, pass.batch}));
  flying_.erase({pass.chunk, pass.batch});
  builder_.tape = flight.tape.get();
  builder_.batch = pass.batch;
  store_->last_batch = last;
  const std::int64_t number = ChunkNumber(pass.chunk);
  TensorDesc gradient;
  if (number < LastChunk()) {
    gradient = ReceiveFrom(number + 1, pass);
  } else {
    builder_.Op("aten::ones_like");
    gradient = out_.New(flight.result.tensor.dtype, flight.result.shape());
    out_.Host("aten::empty_like",
              Args(flight.result.tensor, kNoValue, kNoValue, kNoValue, false, 1), Args(gradient));
    out_.InPlace("aten::fill_", gradient, 1.0);
  }
  builder_.delayed = pass.leaves_weights ? &delayed_[{pass.chunk, pass.batch}] : nullptr;
  out_.OnAutogradThread(true);
  builder_.tape->Run(flight.result, {gradient, false});
  out_.OnAutogradThread(false);
  builder_.delayed = nullptr;
  if (number > 0) {
    SendTo(number - 1, pass, *builder_.tape->InputGradient());
  } else if (number == LastChunk() && last && !workload_.layers_only) {
    builder_.Op();
    out_.ReadItem(flight.result.tensor);
  }
}

void Program::ComputeWeights(const Pass& pass, bool last) {
  out_.facts = {.phase = Phase::kBackward};
  builder_.batch = pass.batch;
  store_->last_batch = last;
  auto delayed = delayed_.extract({pass.chunk, pass.batch});
  for (auto& compute : delayed.mapped()) {
    compute();
    compute = nullptr;  // what it kept is free
  }
  out_.facts.in_layer = false;
}

}  // namespace reprise
