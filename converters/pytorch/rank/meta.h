// rank<N>.meta.json: what the capture script knew.
#pragma once

#include <cstdint>
#include <string>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

struct CaptureMeta {
  // Median of `step_seconds` over the steps not in `traced_steps`, without the first two (warm-up).
  // Of a GPU's capture only those before the traced ones count, if there are any. -1 if the file
  // lacks them or no step is left.
  std::int64_t untraced_step_ns = -1;
  // The mean of `step_page_faults`, of these steps those before the traced ones if there are any.
  std::int64_t untraced_page_faults = -1;
  // "processor", "device", "torch", "threads", "cores"; each may be absent.
  RecordedMachine machine;
  std::string job;  // the same on all ranks of a job; empty: unknown
  // "placement"; likewise. A value that cannot be one of its field is taken as absent and counted.
  RankPlacement placement;
};

[[nodiscard]] Result<CaptureMeta> ReadMeta(const std::string& path, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
