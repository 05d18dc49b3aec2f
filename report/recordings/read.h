// Trace sets and runs as recordings to compare.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"
#include "report/recordings/recording.h"
#include "report/run/run.h"

namespace reprise {

// One rank of a trace set. Bad input: arguments that cannot be decoded.
[[nodiscard]] Result<RankRecording> RecordingOfRank(const Graph& graph);

// An .et file, or the ranks that are there of a set's directory, with their critical path. Bad
// input as readers say, and for folded sets of more ranks than can be read one after the other.
[[nodiscard]] Result<RecordedJob> ReadTraceRecording(const std::string& path);

// A run's ranks: medians over its iterations. A run has no module paths, callers and weights.
// Bad input: it replayed no trace (it watched a program), or no iteration was finished.
[[nodiscard]] Result<RecordedJob> ReadRunRecording(const std::string& directory);
[[nodiscard]] Result<RecordedJob> RecordingOfRun(const RunData& run);

// By class, along the critical path of all ranks as recorded; empty where the equation has none.
[[nodiscard]] std::vector<PathPart> CriticalPathOf(std::span<const Graph* const> graphs);

// Sets RecordedOperation::module of operations called on a thread, by the ranges around their
// calls: modules that a profiler recorded (with_modules or with_stack), and what the program marked
// itself.
void FillModulePaths(const Graph& graph, std::vector<RecordedOperation>& operations);

// Sets the four numbers of weights: those that a training step changes, and those that it leaves as
// they are (fine-tuning of adapters: LoRA, Hu et al. 2021). Weights are two-dimensional floating
// tensors older than the trace that products read; those that the optimizer writes are trained.
// Zeros: no optimizer ran, or storages have no identities.
void CountWeights(const Graph& graph, RankRecording& rank);

// "all_reduce 4096 B", in place of a transfer's shapes.
[[nodiscard]] std::string TransferText(const CommSpec& comm);

// A slice and, of the device's, the end of its launch; INT64_MIN: not recorded.
using LaunchedSlice = std::pair<BusySlice, std::int64_t>;
// Sorts both into the rank. Of each device slice in `slices` the end of its launch.
[[nodiscard]] std::vector<std::int64_t> TakeSorted(std::vector<RecordedOperation> operations,
                                                   std::vector<LaunchedSlice> slices,
                                                   RankRecording& rank);

// Fills `activity` and `slices` from operations and from device events that belong to none.
// `launched_ns`: of each device slice in `slices` the end of its launch, INT64_MIN: not recorded.
struct StepWindow {
  std::int64_t start_ns = 0, end_ns = 0;
};
void MeasureActivity(std::span<const StepWindow> steps, std::span<const std::int64_t> launched_ns,
                     RankRecording& rank);

}  // namespace reprise
