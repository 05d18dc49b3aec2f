#include "predict/workload/tape.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {

Var Tape::Input(const TensorDesc& tensor) {
  Var var{.tensor = tensor};
  if (!enabled_) {
    return var;
  }
  var.entry = static_cast<std::int32_t>(entries_.size());
  entries_.push_back({});
  entries_.back().gradients.resize(1);
  entries_.back().backward = [this](std::vector<Grad>& results) {
    input_gradient_ = results[0].tensor;
    return std::vector<Grad>{};
  };
  return var;
}

Var Tape::WithGradient(const Var& x) {
  Var var = x;
  if (!enabled_ || x.NeedsGradient()) {
    return var;
  }
  var.entry = static_cast<std::int32_t>(entries_.size());
  var.slot = 0;
  entries_.push_back({});
  entries_.back().gradients.resize(1);
  entries_.back().backward = [](std::vector<Grad>&) { return std::vector<Grad>{}; };
  return var;
}

std::vector<Var> Tape::Record(std::string_view name, GradientTargets inputs,
                              std::vector<TensorDesc> results, Backward backward) {
  std::vector<Var> vars(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    vars[i].tensor = std::move(results[i]);
  }
  const bool needed = std::ranges::any_of(inputs, [](const GradientTarget& input) {
    return input.entry >= 0 || input.parameter != nullptr;
  });
  if (!enabled_ || !needed) {
    return vars;
  }
  for (std::size_t i = 0; i < vars.size(); ++i) {
    vars[i].entry = static_cast<std::int32_t>(entries_.size());
    vars[i].slot = static_cast<std::int32_t>(i);
  }
  Entry entry{.name = name, .inputs = std::move(inputs), .backward = std::move(backward)};
  entry.gradients.resize(vars.size());
  entry.sequence = emitter_.sequence;
  entry.forward = emitter_.last_host();
  entries_.push_back(std::move(entry));
  return vars;
}

void Tape::RecordHook(std::function<void()> hook) {
  if (enabled_) {
    entries_.push_back({});
    entries_.back().hook = std::move(hook);
  }
}

void Tape::Deliver(const Entry& from, const GradientTarget& to, Grad gradient) {
  if (!gradient.tensor) {
    return;
  }
  if (to.parameter != nullptr) {
    const std::string outer = std::exchange(emitter_.parent, "torch::autograd::AccumulateGrad");
    on_parameter_(*to.parameter, gradient);
    emitter_.parent = outer;
    return;
  }
  if (to.entry < 0) {
    return;
  }
  Grad& sum =
      entries_[static_cast<std::size_t>(to.entry)].gradients[static_cast<std::size_t>(to.slot)];
  if (!sum.tensor) {
    sum = std::move(gradient);
    return;
  }
  // The engine adds what comes later; in place if nothing else refers to it.
  const std::string outer = std::exchange(
      emitter_.parent, fmt::format("autograd::engine::evaluate_function: {}", from.name));
  if (sum.fresh) {
    emitter_.Work("aten::add_", Args(*sum.tensor, *gradient.tensor, 1), Args(*sum.tensor));
  } else {
    const TensorDesc added = emitter_.Work("aten::add", Args(*sum.tensor, *gradient.tensor, 1),
                                           emitter_.New(sum.tensor->dtype, sum.tensor->shape));
    sum = {added, true};
  }
  emitter_.parent = outer;
}

void Tape::Run(const Var& root, Grad gradient) {
  const NodeFacts outer_facts = emitter_.facts;
  const std::string outer_parent = emitter_.parent;
  const std::int64_t outer_sequence = emitter_.sequence;
  emitter_.facts.phase = Phase::kBackward;
  emitter_.facts.recomputed = false;
  if (root.entry >= 0) {
    entries_[static_cast<std::size_t>(root.entry)].gradients[static_cast<std::size_t>(root.slot)] =
        std::move(gradient);
  }
  while (!entries_.empty()) {
    Entry entry = std::move(entries_.back());
    entries_.pop_back();
    if (entry.hook) {
      emitter_.parent = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
      entry.hook();
      continue;
    }
    const bool reached = std::any_of(entry.gradients.begin(), entry.gradients.end(),
                                     [](const Grad& one) { return one.tensor.has_value(); });
    if (!reached) {
      continue;
    }
    emitter_.parent = entry.name;
    emitter_.sequence = entry.sequence;
    emitter_.StartBackwardOf(entry.forward);
    std::vector<Grad> inputs = entry.backward(entry.gradients);
    entry.backward = nullptr;  // what it kept is free
    emitter_.StartBackwardOf({});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Deliver(entry, entry.inputs[i], std::move(inputs[i]));
    }
  }
  emitter_.facts = outer_facts;
  emitter_.parent = outer_parent;
  emitter_.sequence = outer_sequence;
}

}  // namespace reprise
