// The Kineto file: when each operation ran, on which thread. Times in nanoseconds since the epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "converters/pytorch/process_groups.h"
#include "converters/pytorch/string_pool.h"
#include "converters/text_file.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace reprise::pytorch {

// The args of record_param_comms that the host trace lacks.
struct KinetoComm {
  std::string group_name;
  std::string group_description;
  std::vector<std::int64_t> ranks;  // "Process Group Ranks", global
  std::int64_t sequence = -1;
  std::int64_t peer = -1;  // "Src Rank" / "Dst Rank": global, unlike the host trace's
};

struct KinetoEvent {
  const std::string* name = nullptr;  // interned for the life of the KinetoTrace
  std::int64_t thread = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t rf_id = -1;
  bool annotation = false;  // user_annotation, not cpu_op
  std::unique_ptr<KinetoComm> comm;
};

struct KinetoTrace {
  std::vector<KinetoEvent> events;  // cpu_op and user_annotation, in file order
  std::vector<GroupRecord> groups;  // distributedInfo.pg_config
  std::int64_t rank = -1;           // distributedInfo; -1: not recorded
  std::int64_t world_size = -1;
  std::string host_name;  // processes of one host read one clock; empty: not recorded
  std::shared_ptr<StringPool> strings;
};

// Bad input on anything that is not such a file, or damaged; names file and byte offset.
[[nodiscard]] Result<KinetoTrace> ReadKineto(const TextFile& file, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
