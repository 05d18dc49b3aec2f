// The parameters of one rank: where they, their gradients and the optimizer's states are.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "predict/workload/builder.h"

namespace reprise {

// A part of the model that is computed at once: embedding, a layer, the head. Parallelisms work
// around it, and activation recomputation repeats it.
class Unit {
 public:
  explicit Unit(std::string of_unit, bool of_layer = false)
      : name(std::move(of_unit)), is_layer(of_layer) {}
  virtual ~Unit() = default;
  // Hidden states in, hidden states out; the last unit's result is the loss.
  [[nodiscard]] virtual Var Forward(Builder& b, const Var& x) = 0;
  Parameter* NewParameter(std::vector<std::int64_t> shape) {
    return &parameters.emplace_back(Parameter{.shape = std::move(shape)});
  }

  const std::string name;
  const bool is_layer;
  bool recomputed = false;  // its activations, in the backward pass
  // Set by its forward pass. False: only frozen parameters, and nothing to train before it.
  bool has_backward = true;
  std::deque<Parameter> parameters;  // addresses stay
  std::int64_t layer = 0;            // number in the model
  std::size_t index = 0;             // among the rank's units
  // What it takes beside hidden states, which an earlier unit computes; null: nothing.
  std::shared_ptr<Var> beside;
};
using Units = std::vector<std::unique_ptr<Unit>>;

// Parameters, all of them trained, whose gradients travel together.
struct Bucket {
  std::vector<Parameter*> parameters;
  std::vector<std::size_t> units;
  bool expert = false;
  bool eight = false;            // values in 8 bits
  std::int64_t elements = 0;     // a multiple of the shards
  TensorDesc values, gradients;  // of all, one after the other; undefined: apart
  std::size_t units_left = 0;    // whose gradients are still to come
  bool reduced = false;
  Issued reduction, gathering;

  // Divided gradients (ZeRO-2): `gradients` is this rank's sum.
  bool divided = false;
  bool has_gradient = false;  // `gradients` is of this step
  TensorDesc filling;         // all ranks' parts of a micro-batch
  TensorDesc arrived;         // this rank's part, not added yet
};

// FSDP: what a unit's ranks hold, and its gathered whole.
struct ShardedUnit {
  std::vector<Parameter*> parameters;
  bool expert = false;
  // Shards: a part of the first dimension; flat where the ranks do not divide it.
  std::vector<TensorDesc> values, gradients;  // gradients: undefined of what is frozen
  std::int64_t shard_elements = 0;
  std::int64_t trained_elements = 0;  // those of them that have gradients
  bool issued = false, gathered = false, has_gradient = false;
  TensorDesc whole;
  Issued gathering, reduction;
  TensorDesc reduced;  // arrived, not added yet
};

// One item of the optimizer's lists.
struct Optimized {
  TensorDesc value;  // what the model computes with
  TensorDesc sum;    // of gradients; undefined: `parameter` has it as it came
  const Parameter* parameter = nullptr;
  [[nodiscard]] const TensorDesc& gradient() const {
    return sum.IsDefined() ? sum : parameter->fresh;
  }
  TensorDesc master;  // undefined: value itself
  TensorDesc mean, square, step;
};

class ParameterStore {
 public:
  ParameterStore(const Workload& workload, Emitter& emitter, std::vector<Units>& chunks);

  // Gradients of the last micro-batch come: what is complete may be reduced.
  bool last_batch = false;
  // Sums a gradient as the job does.
  void AddGradient(Parameter& parameter, const Grad& gradient);
  void BeginStep(Builder& b);
  // The optimizer's items, in order; states are made with the first call.
  std::vector<Optimized>& Items();

  std::vector<Unit*> units;
  std::vector<Bucket> buckets;
  // By unit: dense parameters, then experts'; empty unless FSDP.
  std::vector<std::vector<ShardedUnit>> sharded;
  // Ranks among which a parameter's gradients are summed, and the role of their group.
  [[nodiscard]] static std::int64_t Replicas(const Layout& layout, bool expert);
  [[nodiscard]] static const char* ReplicaGroup(bool expert) { return expert ? "edp" : "dp"; }
  // FSDP: ranks that divide a parameter, and the role of their group.
  [[nodiscard]] static std::int64_t Shards(const Layout& layout, bool expert) {
    return layout.shards > 0 ? layout.cp * layout.shards : Replicas(layout, expert);
  }
  [[nodiscard]] static const char* ShardGroup(const Layout& layout, bool expert) {
    return layout.shards > 0 ? "shard" : ReplicaGroup(expert);
  }
  // A parameter's complete gradient, or this rank's part of it.
  [[nodiscard]] TensorDesc GradientOf(const Parameter& parameter) const;

 private:
  void PlaceFrozen();
  void MakeBuckets();
  void FillBuckets(bool expert, bool eight, std::int64_t most);
  void PlaceBucket(Bucket& bucket);
  void MakeShards();
  void MakeItems();

  std::vector<std::size_t> chunks_;  // by unit
  const Workload& workload_;
  Emitter& out_;
  std::vector<Optimized> items_;
};

}  // namespace reprise
