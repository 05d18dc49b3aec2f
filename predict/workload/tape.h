// Automatic differentiation as PyTorch does it: every operator of the forward pass leaves an entry
// that writes its backward operators, and the entries run in reverse.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "predict/workload/emitter.h"

namespace reprise {

// Numbers of 8 bits and their scales (predict/workload/ops/scaling.h).
struct ScaledTensor {
  TensorDesc values, scale;
};

// A tensor of one rank that the model has between steps: its shard.
struct Parameter {
  std::vector<std::int64_t> shape;
  bool expert = false;      // reduced among the replicas of its experts only
  bool tp_sum = false;      // every tensor-parallel rank holds all of it and computes part of its
                            // gradient
  bool tied = false;        // embedding that the last stage of a pipeline has, too
  std::int64_t parts = 1;   // of the whole parameter, one on each tensor-parallel rank
  std::int64_t copies = 1;  // ranks that compute the same product with it
  bool scaled = false;      // its products are in 8 bits, if the job has a recipe for that
  bool adapter = false;     // of a LoraAdapter
  bool frozen = false;      // not trained: no gradient, no state of the optimizer
  std::int64_t elements() const { return ElementCount(shape); }

  // Set by ParameterStore.
  TensorDesc value;
  TensorDesc gradient;        // where gradients are summed; undefined: where they come
  TensorDesc fresh;           // the gradient as it came, where it is not summed
  bool has_gradient = false;  // of this step
  ScaledTensor scaled_rows, scaled_columns;  // as the step's first micro-batch converted it
};

// Two matrices whose product is added to that of a linear layer (predict/workload/lora.h).
struct LoraAdapter {
  Parameter* down = nullptr;  // (rank, inputs); null: no adapter
  Parameter* up = nullptr;    // (outputs, rank)
};

// Of a linear layer, a norm or a convolution.
struct WeightAndBias {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;  // null: none
  LoraAdapter adapter = {};   // of a linear layer
};

// A tensor that is gathered again for the backward pass in place of being kept.
class Regathered {
 public:
  struct Gathering {
    TensorDesc tensor;
    Issued issued;
  };
  Regathered(Emitter& emitter, std::function<Gathering()> gather)
      : emitter_(emitter), gather_(std::move(gather)) {}
  // Issues the transfer, so that work before Get runs beside it.
  void Start() {
    if (!gathering_) {
      gathering_ = gather_();
    }
  }
  // Work from here on starts after the transfer.
  const TensorDesc& Get() {
    Start();
    emitter_.Wait(std::exchange(gathering_->issued, {}));
    return gathering_->tensor;
  }
  void Release() { gathering_.reset(); }

 private:
  Emitter& emitter_;
  std::function<Gathering()> gather_;
  std::optional<Gathering> gathering_;
};

// A tensor of which transfers are under way: the c-th of `parts` brings the c-th part of the rows
// of every member, whose rows stand one member after the other. The linear layer that takes the
// tensor first works part by part, beside the transfers of the others.
struct Arrival {
  std::int64_t members = 1;
  std::vector<Issued> parts;
};

// A tensor of the forward pass and where its gradient goes.
struct Var {
  TensorDesc tensor;
  std::int32_t entry = -1;  // of the operator that made it; -1: no gradient
  std::int32_t slot = 0;    // which of its results
  Parameter* parameter = nullptr;
  std::shared_ptr<Regathered> regathered;
  std::shared_ptr<Arrival> arrival;
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return tensor.shape; }
  [[nodiscard]] bool NeedsGradient() const {
    return entry >= 0 || (parameter != nullptr && !parameter->frozen);
  }
};

// Where the gradients of an operator's inputs go.
struct GradientTarget {
  GradientTarget(
      const Var& input)  // NOLINT(google-explicit-constructor): an input is named as it is
      : entry(input.entry),
        slot(input.slot),
        parameter(input.NeedsGradient() ? input.parameter : nullptr) {}
  std::int32_t entry, slot;
  Parameter* parameter;  // null: none that is trained
};
struct GradientTargets : std::vector<GradientTarget> {
  using std::vector<GradientTarget>::vector;
  GradientTargets(const std::vector<Var>& inputs)  // NOLINT(google-explicit-constructor): as above
      : std::vector<GradientTarget>(inputs.begin(), inputs.end()) {}
};

// A gradient on its way; fresh: nothing else holds its storage, so that others are added in place.
struct Grad {
  std::optional<TensorDesc> tensor;
  bool fresh = true;
  std::shared_ptr<Arrival> arrival;
};

class Tape {
 public:
  // From the gradients of the results to those of the inputs, parallel to the recorded inputs.
  using Backward = std::function<std::vector<Grad>(std::vector<Grad>& results)>;
  // Gets the gradient of a parameter.
  using OnParameter = std::function<void(Parameter& parameter, const Grad& gradient)>;

  Tape(Emitter& emitter, OnParameter on_parameter)
      : emitter_(emitter), on_parameter_(std::move(on_parameter)) {}

  // Off: operators leave no entries (activation recomputation's first pass).
  void set_enabled(bool enabled) { enabled_ = enabled; }
  [[nodiscard]] bool enabled() const { return enabled_; }
  // A tensor that comes from elsewhere; Run leaves its gradient in InputGradient.
  [[nodiscard]] Var Input(const TensorDesc& tensor);
  // x, or a leaf with its tensor, whose gradient nothing takes. What is computed again in the
  // backward pass runs backward only if an input of it needs a gradient, so that frameworks ask for
  // one (Megatron-Bridge, megatron/bridge/peft/recompute.py; peft, enable_input_require_grads).
  [[nodiscard]] Var WithGradient(const Var& x);
  // `name` is autograd's ("AddmmBackward0"), a literal. Without an input that needs a gradient
  // there is no entry, and results have none.
  std::vector<Var> Record(std::string_view name, GradientTargets inputs,
                          std::vector<TensorDesc> results, Backward backward);
  // Runs when the entries before it have their gradients, whether or not there is one for it.
  void RecordHook(std::function<void()> hook);
  // The gradient of `root`, then everything back to the inputs. Entries are freed as they run.
  void Run(const Var& root, Grad gradient);
  [[nodiscard]] std::optional<TensorDesc> InputGradient() const { return input_gradient_; }

 private:
  struct Entry {
    std::string_view name;
    GradientTargets inputs;
    std::vector<Grad> gradients;  // of the results
    Backward backward;
    std::function<void()> hook;
    std::int64_t sequence = -1;
    Emitter::HostPlace forward;  // the operator's last node
  };
  void Deliver(const Entry& from, const GradientTarget& to, Grad gradient);

  Emitter& emitter_;
  OnParameter on_parameter_;
  bool enabled_ = true;
  std::deque<Entry> entries_;
  std::optional<TensorDesc> input_gradient_;
};

}  // namespace reprise
