#include "predict/workload/parameters.h"

#include <algorithm>

namespace reprise {
namespace {

// As Megatron-LM: without overlap one bucket for all; with it 40 million elements.
constexpr std::int64_t kOverlappedBucketElements = 40'000'000;
// Divided gradients: DeepSpeed's reduce_bucket_size (docs/_pages/config-json.md).
constexpr std::int64_t kDividedBucketElements = 500'000'000;

std::int64_t RoundUp(std::int64_t number, std::int64_t to) { return (number + to - 1) / to * to; }

// Whether a bucket's values and sums are one buffer each, with parameters as parts of it.
bool UsesBuffers(const Workload& w) { return w.MixedPrecision() || w.layout.distributed_optimizer; }

}  // namespace

std::int64_t ParameterStore::Replicas(const Layout& layout, bool expert) {
  return expert ? layout.expert_replicas() : layout.cp * layout.dp;
}

ParameterStore::ParameterStore(const Workload& workload, Emitter& emitter,
                               std::vector<Units>& chunks)
    : workload_(workload), out_(emitter) {
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    for (auto& unit : chunks[chunk]) {
      unit->index = units.size();
      units.push_back(unit.get());
      chunks_.push_back(chunk);
    }
  }
  sharded.resize(units.size());
  if (workload_.layout.fsdp) {
    MakeShards();
  } else {
    PlaceFrozen();
    MakeBuckets();
  }
}

void ParameterStore::MakeShards() {
  for (Unit* unit : units) {
    for (const bool expert : {false, true}) {
      ShardedUnit part{.expert = expert};
      const std::int64_t shards = Shards(workload_.layout, expert);
      for (Parameter& parameter : unit->parameters) {
        if (parameter.expert != expert) {
          continue;
        }
        std::vector<std::int64_t> shape = parameter.shape;
        shape[0] = RoundUp(shape[0], shards) / shards;  // FSDP2 pads the first dimension
        part.parameters.push_back(&parameter);
        part.values.push_back(out_.New(workload_.model.dtype, shape, StorageUse::kParameter));
        part.gradients.push_back(
            parameter.frozen ? TensorDesc{}
                             : out_.New(workload_.GradientType(), shape, StorageUse::kGradient));
        part.shard_elements += ElementCount(shape);
        part.trained_elements += parameter.frozen ? 0 : ElementCount(shape);
      }
      if (!part.parameters.empty()) {
        sharded[unit->index].push_back(std::move(part));
      }
    }
  }
}

void ParameterStore::MakeBuckets() {
  const std::int64_t width = SizeOf(workload_.GradientType());
  std::int64_t most = workload_.bucket_bytes / width;
  if (most == 0) {
    most = workload_.overlap.grad || workload_.overlap.param ? kOverlappedBucketElements
           : workload_.layout.divided_gradients              ? kDividedBucketElements
                                                             : std::int64_t{1} << 62;
  }
  for (const bool expert : {false, true}) {
    for (const bool eight : {false, true}) {
      FillBuckets(expert, eight, most);
    }
  }
  for (Bucket& bucket : buckets) {
    PlaceBucket(bucket);
  }
}

// Gradients come in reverse, so that buckets fill from the end.
void ParameterStore::FillBuckets(bool expert, bool eight, std::int64_t most) {
  const auto belongs = [this, expert, eight](const Parameter& parameter) {
    const bool in_eight = workload_.fp8_param_gather && parameter.scaled;
    return parameter.expert == expert && in_eight == eight && !parameter.frozen;
  };
  bool open = false;
  for (std::size_t i = units.size(); i-- > 0;) {
    Unit& unit = *units[i];
    if (std::ranges::none_of(unit.parameters, belongs)) {
      continue;
    }
    // The chunks of a stage have their backward passes at different times.
    const bool other_chunk = open && workload_.layout.divided_gradients &&
                             chunks_[buckets.back().units.back()] != chunks_[i];
    if (!open || other_chunk) {
      buckets.push_back({.expert = expert, .eight = eight});
      open = true;
    }
    Bucket& bucket = buckets.back();
    bucket.units.push_back(i);
    for (Parameter& parameter : unit.parameters) {
      if (belongs(parameter)) {
        bucket.parameters.push_back(&parameter);
        bucket.elements += parameter.elements();
      }
    }
    open = bucket.elements < most;
  }
}

void ParameterStore::PlaceBucket(Bucket& bucket) {
  const std::int64_t replicas = Replicas(workload_.layout, bucket.expert);
  if (workload_.layout.distributed_optimizer) {
    bucket.elements = RoundUp(bucket.elements, replicas);
  }
  const bool buffers = UsesBuffers(workload_);
  if (buffers) {
    bucket.values = out_.New(bucket.eight ? DType::kFloat8E4M3 : workload_.model.dtype,
                             {bucket.elements}, StorageUse::kParameter);
  }
  bucket.divided = workload_.layout.divided_gradients && replicas > 1;
  if (buffers || replicas > 1) {
    bucket.gradients =
        out_.New(workload_.GradientType(), {bucket.elements / (bucket.divided ? replicas : 1)},
                 StorageUse::kGradient);
  }
  std::int64_t at = 0;
  for (Parameter* parameter : bucket.parameters) {
    parameter->value =
        buffers ? out_.Part(bucket.values, at, parameter->shape)
                : out_.New(workload_.model.dtype, parameter->shape, StorageUse::kParameter);
    if (bucket.gradients.IsDefined() && !bucket.divided) {
      parameter->gradient = out_.Part(bucket.gradients, at, parameter->shape);
    }
    at += parameter->elements();
  }
}

void ParameterStore::PlaceFrozen() {
  for (Unit* unit : units) {
    for (Parameter& parameter : unit->parameters) {
      if (parameter.frozen) {
        parameter.value = out_.New(workload_.model.dtype, parameter.shape, StorageUse::kParameter);
      }
    }
  }
}

void ParameterStore::BeginStep(Builder& b) {
  last_batch = false;
  for (Bucket& bucket : buckets) {
    bucket.units_left = bucket.units.size();
    bucket.reduced = bucket.has_gradient = false;
    if (UsesBuffers(workload_) && !bucket.divided) {
      b.Op("Optimizer.zero_grad#Adam.zero_grad");
      out_.InPlace("aten::zero_", bucket.gradients);
    }
  }
  for (Unit* unit : units) {
    for (Parameter& parameter : unit->parameters) {
      parameter.has_gradient = false;
    }
  }
  for (std::vector<ShardedUnit>& parts : sharded) {
    for (ShardedUnit& part : parts) {
      part.has_gradient = false;
    }
  }
}

void ParameterStore::AddGradient(Parameter& parameter, const Grad& gradient) {
  const TensorDesc& given = *gradient.tensor;
  if (UsesBuffers(workload_) && parameter.gradient.IsDefined()) {
    out_.InPlace("aten::add_", parameter.gradient, given, 1);
    parameter.has_gradient = true;
    return;
  }
  if (parameter.has_gradient) {
    out_.InPlace("aten::add_", parameter.fresh, given, 1);
    return;
  }
  const TensorDesc detached = out_.Host(
      "aten::detach", Args(given), out_.Alias(given, given.shape, given.strides, given.offset));
  parameter.fresh = detached;
  if (workload_.layout.zero() < 2 && !parameter.gradient.IsDefined()) {
    out_.SetUse(detached.incarnation, StorageUse::kGradient);  // it stays until the step's end
  }
  parameter.has_gradient = true;
}

std::vector<Optimized>& ParameterStore::Items() {
  if (items_.empty()) {
    MakeItems();
  }
  return items_;
}

void ParameterStore::MakeItems() {
  const auto add = [this](const TensorDesc& value, const TensorDesc& gradient,
                          const Parameter* parameter = nullptr) {
    Optimized item{.value = value, .sum = gradient, .parameter = parameter};
    const auto state = [&](std::vector<std::int64_t> shape) {
      return out_.New(DType::kFloat32, std::move(shape), StorageUse::kOptimizer);
    };
    if (workload_.MixedPrecision()) {
      item.master = state(value.shape);
    }
    item.mean = state(value.shape);
    if (workload_.optimizer != "sgd") {
      item.square = state(value.shape);
      item.step = out_.New(DType::kFloat32, {}, StorageUse::kInput);
    }
    items_.push_back(std::move(item));
  };
  for (std::vector<ShardedUnit>& parts : sharded) {
    for (ShardedUnit& part : parts) {
      for (std::size_t i = 0; i < part.values.size(); ++i) {
        if (part.gradients[i].IsDefined()) {
          add(part.values[i], part.gradients[i]);
        }
      }
    }
  }
  for (Bucket& bucket : buckets) {
    if (workload_.layout.distributed_optimizer) {
      const std::int64_t shard = bucket.elements / Replicas(workload_.layout, bucket.expert);
      const TensorDesc value = out_.Part(bucket.values, 0, {shard});
      add(value, out_.Part(bucket.gradients, 0, {shard}));
      continue;
    }
    for (Parameter* parameter : bucket.parameters) {
      add(parameter->value, parameter->gradient, parameter);
    }
  }
}

TensorDesc ParameterStore::GradientOf(const Parameter& parameter) const {
  for (const std::vector<ShardedUnit>& parts : sharded) {
    for (const ShardedUnit& part : parts) {
      const auto at = std::find(part.parameters.begin(), part.parameters.end(), &parameter);
      if (at != part.parameters.end()) {
        return part.gradients[static_cast<std::size_t>(at - part.parameters.begin())];
      }
    }
  }
  for (const Bucket& bucket : buckets) {
    if (!bucket.divided) {
      continue;
    }
    std::int64_t at = 0;
    for (const Parameter* const other : bucket.parameters) {
      if (other == &parameter) {
        // Ranks hold different pieces of a bucket; each class has what is a rank's on average.
        const std::int64_t shards = Replicas(workload_.layout, bucket.expert);
        const std::int64_t size = RoundUp(parameter.elements(), shards) / shards;
        return out_.Part(bucket.gradients, std::min(at / shards, bucket.gradients.elements - size),
                         {size});
      }
      at += other->elements();
    }
  }
  return parameter.gradient.IsDefined() ? parameter.gradient : parameter.fresh;
}

}  // namespace reprise
