// One rank's trace on its way from any of Chakra's forms to a Reprise trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/pytorch/host/process_groups.h"
#include "core/diagnostics.h"
#include "et_schema/node.h"

namespace reprise::chakra {

using pytorch::GroupRecord;

struct RankTrace {
  std::int32_t rank = 0;
  std::string path;
  // `source`: "chakra 0.0.3", "chakra linked 1.0.2-chakra.0.0.4". The rest once the trace is
  // finished.
  TraceMetadata metadata;
  // CommSpec::group is the name that this rank gives to it; peer and root are as recorded.
  std::vector<Node> nodes;
  std::vector<GroupRecord> groups;  // in the order of their creation
  std::uint64_t recorded_operations = 0;
  // Captured from PyTorch: a transfer that names no group may be of any. Simulators' traces mean
  // all ranks by it.
  bool captured = false;
  // Reprise's own, as other JSON: metadata, nodes, groups and times are final.
  bool native = false;
  Diagnostics diagnostics;
};

}  // namespace reprise::chakra
