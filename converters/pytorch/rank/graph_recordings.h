// Device graphs as they were recorded: the calls between cudaStreamBeginCapture and
// cudaStreamEndCapture (HIP's alike), which launch nothing then, with the operations that made
// them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

// An operation that was called while a graph was recorded.
struct RecordedOperation {
  std::string name;                    // "aten::mm"
  std::string parent;                  // as NodeFields::parent
  std::string op_schema;               // empty: not recorded
  OpClass op_class = OpClass::kOther;  // kOther: the operator table lacks it
  ValueList inputs, outputs;
  bool results_inferred = false;
};

// A kernel, copy or fill of a recorded graph, in the order of the recording.
struct RecordedNode {
  DeviceEvent::Kind kind = DeviceEvent::Kind::kKernel;
  std::string kernel;           // its name; empty: the recording does not say it (CUDA's)
  std::int32_t operation = -1;  // index into RecordedGraph::operations; -1: called in none
  // Of kernels that ran: as DeviceWork has it, and whether it has its operation's arguments.
  std::array<std::int32_t, 3> grid = {};
  bool main = false;
};

struct RecordedGraph {
  std::vector<RecordedNode> nodes;
  std::vector<RecordedOperation> operations;
  // Whether the nodes' kernels have names: all that are no copies or fills.
  bool named = false;
};

[[nodiscard]] RecordedOperation DescribeOperation(const RankCapture& rank, std::int32_t operation);

// The complete recordings of a capture that has been read, in order. Counts those that began before
// the capture or ended after it, or that others overlap (`graph_recording_cut`): these have no
// nodes here.
[[nodiscard]] std::vector<RecordedGraph> TakeRecordedGraphs(RankCapture& rank);

// The operations that made nodes of recorded graphs, by index; InferKinetoResults needs them.
[[nodiscard]] std::vector<std::int32_t> RecordedOperations(const RankCapture& rank);

}  // namespace reprise::pytorch
