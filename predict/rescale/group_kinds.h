// What a job's process groups are for: which of them hold data-parallel replicas.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm.h"
#include "core/enum_names.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

enum class GroupKind : std::uint8_t {
  kData,
  kTensor,
  kPipeline,
  kContext,
  kExpert,
  kOther,    // several at once, or sums of a few numbers: follows from the others
  kUnknown,  // transfers that several kinds make
};
REPRISE_NAMES(GroupKind, "dp", "tp", "pp", "cp", "ep", "other", "unknown");

// By the description that Megatron-LM, DeepSpeed, PyTorch's meshes or the generator give. Nothing:
// it does not say.
[[nodiscard]] std::optional<GroupKind> KindOfDescription(std::string_view description);

// The transfers of the groups of one role, as far as they show what it is for.
struct SeenTransfers {
  std::set<CommKind> kinds;
  std::int64_t transfers = 0;
  // Large ones: of tensors of one dimension, as buckets and shards are; of activations' shapes; of
  // tensors that the trace does not have.
  std::int64_t flat = 0, shaped = 0, unseen = 0;
  void Add(const Node& node);
};
// Buckets and shards are of data parallelism, messages of a pipeline, exchanges of all with all of
// experts, other large tensors of tensor parallelism.
[[nodiscard]] GroupKind KindOfTransfers(const SeenTransfers& transfers);

}  // namespace reprise
