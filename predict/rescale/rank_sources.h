// Which captured rank each rank of a rescaled set repeats.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/trace_set.h"
#include "predict/rescale/data_axis.h"

namespace reprise {

// A file of the source: of a rank, or of a class of a folded set.
struct SourceFile {
  std::int32_t rank = 0;  // the class's first
  std::string path;
  std::int64_t step_ns = 0;  // mean of its steps
};

struct RescaledClass {
  std::size_t file = 0;  // index of the source's
  std::vector<std::int32_t> ranks;
};

// Each rank repeats one at the same place of the other axes. Replicas come in turn; with `one_copy`
// it is always that of the median step, of those that have files of all their ranks. Where the rank
// has no file, a replica that has one stands for it. Bad input: none has.
[[nodiscard]] Result<std::vector<RescaledClass>> ChooseSources(const TraceSet& set,
                                                               const WidenedMesh& mesh,
                                                               std::span<const SourceFile> files,
                                                               bool one_copy);

}  // namespace reprise
