// Fully sharded data parallelism, as PyTorch's fully_shard: a unit's parameters are gathered before
// each of its passes and freed after it; gradients are reduced and scattered after the backward
// pass.
#include <fmt/format.h>

#include "predict/workload/parallel/parallelism.h"
#include "predict/workload/parameters.h"

namespace reprise {
namespace {

std::vector<std::int64_t> SizesOf(const std::vector<TensorDesc>& tensors) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(tensors.size());
  for (const TensorDesc& tensor : tensors) {
    sizes.push_back(tensor.elements);
  }
  return sizes;
}

std::string Called(const char* what, const Unit& unit) {
  return fmt::format("FSDP::{} ({})", what, unit.name);
}

// Copies the shards into one buffer and starts to gather the others'.
void StartGather(Builder& b, Unit& unit, ShardedUnit& part) {
  if (part.issued || part.gathered) {
    return;
  }
  const std::int64_t shards = ParameterStore::Shards(b.layout(), part.expert);
  b.out.parent = Called("all_gather", unit);
  part.whole = b.out.New(b.dtype(), {shards * part.shard_elements}, StorageUse::kGathered);
  const TensorDesc own = b.out.Part(part.whole, 0, {part.shard_elements});
  std::vector<TensorDesc> flat;
  for (const TensorDesc& value : part.values) {
    flat.push_back(b.out.Part(value, 0, {value.elements}));
  }
  b.out.Work("fsdp::all_gather_copy_in",
             Args(flat, part.whole, SizesOf(part.values), part.shard_elements, 0),
             Args(own, part.whole));
  if (shards > 1) {
    part.gathering =
        b.AllGather(ParameterStore::ShardGroup(b.layout(), part.expert), own, part.whole,
                    b.workload.overlap.param, part.expert ? "fsdp experts" : "fsdp");
  }
  part.issued = true;
}

// Waits for the others' shards and copies them into the parameters.
void FinishGather(Builder& b, Unit& unit, ShardedUnit& part) {
  if (part.gathered) {
    return;
  }
  StartGather(b, unit, part);
  const std::int64_t shards = ParameterStore::Shards(b.layout(), part.expert);
  b.out.Wait(std::exchange(part.gathering, {}));
  b.out.parent = Called("all_gather_copy_out", unit);
  const TensorDesc rows = b.Shaped(part.whole, {shards, part.shard_elements});
  std::vector<TensorDesc> parts;
  for (std::size_t i = 0; i < part.parameters.size(); ++i) {
    const TensorDesc flat =
        b.out.New(b.dtype(), {shards, part.values[i].elements}, StorageUse::kGathered);
    parts.push_back(flat);
    part.parameters[i]->value = b.out.Part(flat, 0, part.parameters[i]->shape);
  }
  b.out.Work("fsdp::split_with_sizes_copy", Args(rows, SizesOf(part.values), 1, parts));
  part.issued = false;
  part.gathered = true;
}

void AddReduced(Builder& b, ShardedUnit& part) {
  b.out.Wait(std::exchange(part.reduction, {}));
  std::int64_t at = 0;
  for (TensorDesc& gradient : part.gradients) {
    if (!gradient.IsDefined()) {
      continue;
    }
    const TensorDesc piece = b.out.Part(part.reduced, at, gradient.shape);
    if (part.has_gradient) {
      b.out.InPlace("aten::add_", gradient, piece, 1);
    } else {
      b.out.InPlace("aten::copy_", gradient, piece, false);
    }
    at += gradient.elements;
  }
  part.has_gradient = true;
}

void StartReduce(Builder& b, Unit& unit, ShardedUnit& part) {
  if (part.trained_elements == 0) {
    return;
  }
  const std::int64_t shards = ParameterStore::Shards(b.layout(), part.expert);
  if (part.reduction.node_id != 0) {  // of the micro-batch before
    b.out.parent = Called("post_backward_accumulate", unit);
    AddReduced(b, part);
  }
  b.out.parent = Called("post_backward_reduce", unit);
  const DType dtype = b.workload.GradientType();
  std::vector<TensorDesc> gradients;
  for (Parameter* parameter : part.parameters) {
    if (parameter->frozen) {
      continue;
    }
    if (!parameter->has_gradient) {  // an expert without tokens
      parameter->fresh = b.Zeros(b.dtype(), parameter->shape);
    }
    gradients.push_back(parameter->fresh);
    parameter->has_gradient = false;
  }
  const TensorDesc flat = b.out.New(dtype, {shards, part.trained_elements});
  b.out.Work(dtype == b.dtype() ? "fsdp::chunk_cat" : "fsdp::chunk_cat_mixed_dtype",
             Args(gradients, 0, shards, flat));
  const TensorDesc whole = b.out.Part(flat, 0, {flat.elements});
  if (shards == 1) {
    part.reduced = whole;
    AddReduced(b, part);
    return;
  }
  const char* const channel = part.expert ? "fsdp experts" : "fsdp";
  part.reduced = b.out.New(dtype, {part.trained_elements});
  part.reduction = b.ReduceScatter(ParameterStore::ShardGroup(b.layout(), part.expert), whole,
                                   part.reduced, b.workload.overlap.grad, channel);
  if (b.layout().replicas() > 1) {  // on the same stream, so after it
    part.reduction = b.AllReduce("replica", part.reduced, b.workload.overlap.grad, channel);
  }
  if (!b.workload.overlap.grad) {
    AddReduced(b, part);
  }
}

Status CheckSharded(const Workload& w) {
  const Layout& l = w.layout;
  if (l.shards > 0 && !l.fsdp) {
    return BadInput("\"shards\" is of \"fsdp\", and that is false");
  }
  if (l.shards > 0 && l.dp % l.shards != 0) {
    return BadInput(
        fmt::format("\"shards\" of {} does not divide data parallelism of {}", l.shards, l.dp));
  }
  if (l.shards > 0 && l.experts_apart()) {
    return BadInput(
        "\"shards\" and expert parallelism both divide neighbouring data-parallel ranks: leave one "
        "out");
  }
  if (l.zero() >= 2 && l.pp > 1 && w.model.EmbeddingAtBothEnds()) {
    return BadInput(
        fmt::format("{} with pipeline parallelism needs {}: first and last stage hold shards "
                    "of different "
                    "units",
                    l.fsdp ? "\"fsdp\"" : "\"zero\" 2",
                    w.model.tied_embeddings ? "\"tied_embeddings\": false" : "\"mtp_layers\": 0"));
  }
  return {};
}

std::vector<GroupRole> ShardGroups(const Workload& w) {
  if (w.layout.shards == 0) {
    return {};  // those of data parallelism
  }
  return {ByRule(w.layout, "shard", "FSDP_SHARD_GROUP", {kContextAxis, kExpertAxis}),
          ByRule(w.layout, "replica", "FSDP_REPLICA_GROUP", {kReplicaAxis})};
}

void GatherUnit(Builder& b, ParameterStore& store, Unit& unit, bool backward) {
  for (ShardedUnit& part : store.sharded[unit.index]) {
    FinishGather(b, unit, part);
  }
  // The next unit's parameters travel while this one computes.
  if (b.layout().fsdp && b.workload.overlap.param) {
    const std::size_t next = unit.index + (backward ? -1 : 1);
    if (next < store.sharded.size() && (!backward || store.units[next]->has_backward)) {
      for (ShardedUnit& part : store.sharded[next]) {
        StartGather(b, *store.units[next], part);
      }
    }
  }
}

void FreeUnit(Builder& b, ParameterStore& store, Unit& unit, bool backward) {
  for (ShardedUnit& part : store.sharded[unit.index]) {
    if (backward) {
      StartReduce(b, unit, part);
    } else if (!unit.is_layer && !b.layout().reshard_root) {
      continue;
    }
    part.gathered = false;
  }
}

void FinishSharded(Builder& b, ParameterStore& store) {
  for (std::size_t i = store.sharded.size(); i-- > 0;) {
    for (ShardedUnit& part : store.sharded[i]) {
      if (part.reduction.node_id != 0) {
        b.out.parent = Called("post_backward_accumulate", *store.units[i]);
        AddReduced(b, part);
      }
      part.gathered = part.issued = false;
    }
  }
}

}  // namespace

Parallelism FullySharded() {
  return {.name = "fsdp",
          .help = "parameters, gradients and optimizer states divided; gathered when needed",
          .groups = ShardGroups,
          .check = CheckSharded,
          .before_unit = GatherUnit,
          .after_unit = FreeUnit,
          .after_backward = FinishSharded};
}

}  // namespace reprise
