// Closed forms that models of all kinds share: the bytes of transfers that gradients and parameters
// take in a step. Nothing here calls the generator's own arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "predict/workload/description.h"
#include "predict/workload/job/generate.h"

namespace reprise {

// By kind of transfer and role of the group.
using TransferBytes = std::map<std::pair<std::string, std::string>, std::int64_t>;

inline TransferBytes BytesOf(const GenerateSummary& summary) {
  TransferBytes bytes;
  for (const TransferRow& row : summary.transfers) {
    bytes[{row.kind, row.group}] += row.sums.bytes;
  }
  return bytes;
}

// Elements that one rank of a stage holds.
struct HeldElements {
  std::int64_t dense = 0;    // reduced among data-parallel ranks
  std::int64_t experts = 0;  // reduced among replicas of its experts
};

// Ranks that divide a dense parameter.
inline std::int64_t ShardsOf(const Layout& l) {
  return l.divided_gradients ? l.cp * l.dp : !l.fsdp ? 1 : l.cp * (l.shards > 0 ? l.shards : l.dp);
}

// Gradients are float32, parameters of `width` bytes.
inline void AddGradientTransfers(const Workload& w, std::int64_t width,
                                 const std::function<HeldElements(std::int64_t stage)>& held,
                                 TransferBytes& bytes) {
  const Layout& l = w.layout;
  const std::int64_t stage_ranks = l.tp * l.cp * l.dp;
  const std::int64_t batches = w.global_batch / (l.dp * w.micro_batch);
  const auto reduce = [&](std::int64_t size, std::int64_t replicas, const char* group) {
    if (size == 0 || replicas == 1) {
      return;
    }
    if (l.fsdp) {
      const char* const shards = l.shards > 0 ? "shard" : group;
      bytes[{"all_gather", shards}] += stage_ranks * batches * 2 * size * width;
      bytes[{"reduce_scatter", shards}] += stage_ranks * batches * size * 4;
      if (l.shards > 0) {  // each replica has the same shard
        bytes[{"all_reduce", "replica"}] += stage_ranks * batches * size * 4 / ShardsOf(l);
      }
    } else if (l.distributed_optimizer) {
      // ZeRO-2: those of each micro-batch.
      bytes[{"reduce_scatter", group}] +=
          stage_ranks * size * 4 * (l.divided_gradients ? batches : 1);
      bytes[{"all_gather", group}] += stage_ranks * size * width;
    } else {
      bytes[{"all_reduce", group}] += stage_ranks * size * 4;
    }
  };
  for (std::int64_t stage = 0; stage < l.pp; ++stage) {
    const HeldElements of_rank = held(stage);
    reduce(of_rank.dense, l.dp * l.cp, "dp");
    const std::int64_t ranks = l.tp * l.cp * l.dp;
    reduce(of_rank.experts, l.etp > 0 ? ranks / (l.etp * l.ep) : l.dp * l.cp / l.ep, "edp");
  }
  if (w.model.tied_embeddings && l.pp > 1) {
    bytes[{"all_reduce", "embd"}] += 2 * stage_ranks * (w.model.vocab / l.tp) * w.model.hidden * 4;
  }
  const bool all = l.distributed_optimizer || l.fsdp || l.ep > 1 || l.etp > 0;
  if ((all ? l.ranks() : l.tp * l.pp) > 1) {
    bytes[{"all_reduce", "norm"}] += l.ranks() * 4;
  }
}

}  // namespace reprise
