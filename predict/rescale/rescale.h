// A set at another size: the same job with more or fewer data-, tensor- or expert-parallel ranks,
// micro-batches or layers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/result.h"
#include "et_schema/node.h"
#include "predict/rescale/group_kinds.h"
#include "predict/rescale/repeated_set.h"

namespace reprise {

struct RescaleRequest {
  std::string set;        // directory
  std::string directory;  // of the result, a folded set
  // 0: as the set has them. At least one of them is given.
  std::int64_t data_parallel = 0;
  std::int64_t tensor_parallel = 0;
  std::int64_t expert_parallel = 0;  // among as many data-parallel ranks
  std::int64_t micro_batches = 0;    // in each step
  std::int64_t layers = 0;           // that are alike, of all pipeline stages together
  // Of the model, of keys and values: where each tensor-parallel rank has one and the set does not
  // say whether ranks share them. 0: not given.
  std::int64_t kv_heads = 0;
  // Kinds of groups, by role, description or id: what descriptions and transfers do not say.
  std::map<std::string, GroupKind> kinds;
  bool one_copy = false;  // all replicas repeat one captured one: that of the median step
  bool force = false;     // replace an output that exists
  // Sets num_ops and tensor_bytes of a node that has neither; it may change nothing else.
  std::function<void(Node& node)> costs;
};

struct RescaledGroups {
  std::string role, description;  // "all": of all ranks
  GroupKind kind{};
  std::int64_t size_before = 0, size_after = 0;
};

struct RescaleSummary {
  std::int64_t ranks_before = 0, ranks_after = 0;
  // 0: not asked for.
  std::int64_t data_parallel_before = 0, data_parallel_after = 0;
  std::int64_t tensor_parallel_before = 0, tensor_parallel_after = 0;
  std::int64_t expert_parallel_before = 0, expert_parallel_after = 0;
  std::optional<RepeatSummary> layers, micro_batches;  // where asked for
  std::string missing;  // ranks of the source without a file, whose replicas stand for them
  std::vector<RescaledGroups> groups;
  std::int64_t classes = 0;
  std::vector<std::int32_t> source_ranks;  // by class: whose file it repeats
  std::int64_t nodes_written = 0;
  std::map<Rescaled, std::int64_t> changed;  // nodes in files, by rule
  // Optimizers' nodes without arguments where shards were divided anew: they keep their size.
  std::int64_t unknown_sizes = 0;
};

// Layers come first (WriteLayers), then micro-batches (WriteMicroBatches), tensor-parallel,
// expert-parallel and data-parallel ranks (WriteReplicas). With another number of ranks, every rank
// of the result repeats a captured one at the same place of the mesh, and replicas come in turn.
// Gradients' sums keep their bytes; what ranks divide changes its size, and what works on it.
// Recorded times stay. Nodes that changed have Node::rescaled; rescaled.json says what was done
// from what. Bad input: roles that are not known or contradict, sizes that do not divide, transfers
// whose size at another number of ranks does not follow from them, a set that was rescaled before.
[[nodiscard]] Result<RescaleSummary> RescaleSet(const RescaleRequest& request);

}  // namespace reprise
