// Data parallelism: gradients are summed bucket by bucket, or each rank sums, optimizes and then
// spreads its part of them (distributed optimizer, ZeRO-1). With ZeRO-2 the gradients of each
// micro-batch are reduced and scattered, and added to a rank's part.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "predict/workload/parallel/parallelism.h"
#include "predict/workload/parameters.h"

namespace reprise {
namespace {

bool IsReduced(const Builder& b, const Bucket& bucket) {
  return ParameterStore::Replicas(b.layout(), bucket.expert) > 1;
}

bool Holds(const Bucket& bucket, const Unit& unit) {
  return std::ranges::find(bucket.units, unit.index) != bucket.units.end();
}

// Gradients that came apart go into the bucket, as DistributedDataParallel's reducer does it.
void FillBucket(Builder& b, Unit& unit, const Bucket& bucket) {
  const double share = 1 / static_cast<double>(ParameterStore::Replicas(b.layout(), bucket.expert));
  for (Parameter& parameter : unit.parameters) {
    if (parameter.expert == bucket.expert && parameter.has_gradient) {
      b.out.parent = "torch::distributed::reducer::mul_out";
      b.out.Work("aten::mul", Args(parameter.fresh, share, parameter.gradient),
                 Args(parameter.gradient));
    }
  }
}

// A micro-batch's gradients of one unit, as DeepSpeed's average_tensor places them.
void FillDivided(Builder& b, Unit& unit, Bucket& bucket) {
  const double share = 1 / static_cast<double>(ParameterStore::Replicas(b.layout(), bucket.expert));
  if (!bucket.filling.IsDefined()) {
    bucket.filling = b.out.New(b.workload.GradientType(), {bucket.elements});
  }
  b.out.parent = "reduce_independent_p_g_buckets";
  std::int64_t at = 0;
  for (Parameter* const parameter : bucket.parameters) {
    const std::int64_t own = std::exchange(at, at + parameter->elements());
    const bool of_unit = std::ranges::any_of(
        unit.parameters, [parameter](const Parameter& one) { return &one == parameter; });
    if (!of_unit) {
      continue;
    }
    const TensorDesc part = b.out.Part(bucket.filling, own, parameter->shape);
    if (std::exchange(parameter->has_gradient, false)) {
      b.out.Work("aten::mul", Args(parameter->fresh, share, part), Args(part));
    } else {  // an expert without tokens
      b.out.InPlace("aten::zero_", part);
    }
  }
}

// Adds what has arrived to this rank's sum.
void AddArrived(Builder& b, Bucket& bucket) {
  if (!bucket.arrived.IsDefined()) {
    return;
  }
  b.out.Wait(std::exchange(bucket.reduction, {}));
  if (std::exchange(bucket.has_gradient, true)) {
    b.out.InPlace("aten::add_", bucket.gradients, bucket.arrived, 1);
  } else {
    b.out.InPlace("aten::copy_", bucket.gradients, bucket.arrived, false);
  }
  bucket.arrived = {};
}

void ReduceDivided(Builder& b, Bucket& bucket) {
  AddArrived(b, bucket);  // of the micro-batch before
  const bool overlapped = b.workload.overlap.grad;
  bucket.arrived = b.out.New(bucket.gradients.dtype, bucket.gradients.shape);
  bucket.reduction = b.ReduceScatter(ParameterStore::ReplicaGroup(bucket.expert), bucket.filling,
                                     bucket.arrived, overlapped);
  bucket.filling = {};
  bucket.units_left = bucket.units.size();
  if (!overlapped) {
    AddArrived(b, bucket);
  }
}

void Reduce(Builder& b, Bucket& bucket, bool overlapped) {
  const std::int64_t replicas = ParameterStore::Replicas(b.layout(), bucket.expert);
  const std::string group = ParameterStore::ReplicaGroup(bucket.expert);
  const std::string outer = b.out.parent;
  if (bucket.values.IsDefined()) {  // the sums are in the buffer; their mean is wanted
    b.out.InPlace("aten::mul_", bucket.gradients, 1 / static_cast<double>(replicas));
  }
  if (b.layout().distributed_optimizer) {
    const TensorDesc part = b.out.Part(bucket.gradients, 0, {bucket.elements / replicas});
    bucket.reduction = b.ReduceScatter(group, bucket.gradients, part, overlapped);
  } else {
    bucket.reduction = b.AllReduce(group, bucket.gradients, overlapped);
  }
  bucket.reduced = true;
  b.out.parent = outer;
}

Issued GatherValues(Builder& b, Bucket& bucket, bool overlapped) {
  const std::int64_t replicas = ParameterStore::Replicas(b.layout(), bucket.expert);
  const TensorDesc part = b.out.Part(bucket.values, 0, {bucket.elements / replicas});
  return b.AllGather(ParameterStore::ReplicaGroup(bucket.expert), part, bucket.values, overlapped,
                     overlapped ? "parameters" : "");
}

std::vector<GroupRole> DataGroups(const Workload& w) {
  std::vector<GroupRole> roles = {ByRule(w.layout, "dp", "DATA_PARALLEL_GROUP_WITH_CP",
                                         {kContextAxis, kExpertAxis, kReplicaAxis})};
  if (w.layout.etp > 0) {
    roles.push_back(
        ByRuleOfExperts(w.layout, "edp", "EXPERT_DATA_PARALLEL_GROUP", {kOwnReplicaAxis}));
  } else if (w.layout.ep > 1) {
    roles.push_back(
        ByRule(w.layout, "edp", "EXPERT_DATA_PARALLEL_GROUP", {kContextAxis, kReplicaAxis}));
  }
  const bool sharded = w.layout.distributed_optimizer || w.layout.fsdp || w.layout.experts_apart();
  if (w.layout.shards > 0) {  // each replica has all of them
    roles.push_back(ByRule(w.layout, "norm", "GRADIENT_NORM_GROUP",
                           {kTensorAxis, kContextAxis, kExpertAxis, kStageAxis}));
    return roles;
  }
  roles.push_back(
      sharded ? ByRule(w.layout, "norm", "GRADIENT_NORM_GROUP",
                       {kTensorAxis, kContextAxis, kExpertAxis, kReplicaAxis, kStageAxis})
              : ByRule(w.layout, "norm", "MODEL_PARALLEL_GROUP", {kTensorAxis, kStageAxis}));
  return roles;
}

Status CheckData(const Workload& w) {
  const std::int64_t each = w.layout.dp * w.micro_batch;
  if (w.global_batch % each != 0) {
    return BadInput(fmt::format(
        "a global batch of {} is not a multiple of {} (data parallelism {} x micro-batch {})",
        w.global_batch, each, w.layout.dp, w.micro_batch));
  }
  if (w.layout.fsdp && w.layout.distributed_optimizer) {
    return BadInput(
        "\"fsdp\" divides the optimizer's states already: leave \"distributed_optimizer\" out");
  }
  return {};
}

void GatherBuckets(Builder& b, ParameterStore& store) {
  if (!b.workload.overlap.param || !b.layout().distributed_optimizer) {
    return;
  }
  // What the last step's optimizer left is gathered while the first layers compute.
  std::vector<Bucket>& buckets = store.buckets;
  for (std::size_t i = buckets.size(); i-- > 0;) {
    if (IsReduced(b, buckets[i])) {
      b.Op("DistributedOptimizer.start_param_sync");
      buckets[i].gathering = GatherValues(b, buckets[i], true);
    }
  }
}

void AwaitBuckets(Builder& b, ParameterStore& store, Unit& unit, bool backward) {
  for (Bucket& bucket : store.buckets) {
    if (!backward && Holds(bucket, unit) && bucket.gathering.node_id != 0) {
      b.out.Wait(bucket.gathering);
      bucket.gathering = {};
    }
  }
}

void ReduceBuckets(Builder& b, ParameterStore& store, Unit& unit, bool backward) {
  if (!backward) {
    return;
  }
  for (Bucket& bucket : store.buckets) {
    if (!IsReduced(b, bucket) || !Holds(bucket, unit)) {
      continue;
    }
    if (bucket.divided) {
      FillDivided(b, unit, bucket);
      if (--bucket.units_left == 0) {
        ReduceDivided(b, bucket);
      }
      continue;
    }
    if (!store.last_batch) {
      continue;
    }
    if (!bucket.values.IsDefined()) {
      FillBucket(b, unit, bucket);
    }
    if (--bucket.units_left == 0 && b.workload.overlap.grad) {
      b.out.parent = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
      Reduce(b, bucket, true);
    }
  }
}

void FinishReduce(Builder& b, ParameterStore& store) {
  for (Bucket& bucket : store.buckets) {
    if (!IsReduced(b, bucket)) {
      continue;
    }
    if (bucket.divided) {
      b.Op("finalize_model_grads");
      AddArrived(b, bucket);
      continue;
    }
    if (!bucket.reduced) {
      b.Op("finalize_model_grads");
      Reduce(b, bucket, false);
    }
    b.out.Wait(bucket.reduction);
  }
}

void SpreadBuckets(Builder& b, ParameterStore& store) {
  if (!b.layout().distributed_optimizer || b.workload.overlap.param) {
    return;
  }
  for (Bucket& bucket : store.buckets) {
    if (IsReduced(b, bucket)) {
      b.Op("Optimizer.step#DistributedOptimizer.step");
      b.out.Wait(GatherValues(b, bucket, false));
    }
  }
}

}  // namespace

Parallelism DataParallel() {
  return {.name = "data",
          .help = "the batch divided; gradients are summed, optimizer states divided on request",
          .groups = DataGroups,
          .check = CheckData,
          .before_step = GatherBuckets,
          .before_unit = AwaitBuckets,
          .after_unit = ReduceBuckets,
          .after_backward = FinishReduce,
          .after_optimizer = SpreadBuckets};
}

}  // namespace reprise
