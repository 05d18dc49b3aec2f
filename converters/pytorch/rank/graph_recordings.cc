#include "converters/pytorch/rank/graph_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "converters/pytorch/rank/compiled_code.h"

namespace reprise::pytorch {
namespace {

enum class CaptureCall : std::uint8_t { kOther, kBegin, kEnd, kKernel, kMemcpy, kMemset };

// "cudaStreamBeginCapture_ptsz", "hipExtModuleLaunchKernel", "cuLaunchKernelEx",
// "cudaLaunchCooperativeKernel", "cudaMemcpyAsync", "hipMemsetD32Async".
CaptureCall CaptureCallOf(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("StreamBeginCapture")) {
    return CaptureCall::kBegin;
  }
  if (has("StreamEndCapture")) {
    return CaptureCall::kEnd;
  }
  if (has("Launch") && has("Kernel") && !has("Node")) {
    return CaptureCall::kKernel;
  }
  if (has("Async") && has("Memcpy")) {
    return CaptureCall::kMemcpy;
  }
  return has("Async") && has("Memset") ? CaptureCall::kMemset : CaptureCall::kOther;
}

// A recording as its calls.
struct RecordedCalls {
  std::vector<std::int32_t> calls;
  std::vector<CaptureCall> kinds;  // parallel
  bool complete = false;
};

std::vector<RecordedCalls> FindRecordedCalls(const RankCapture& rank) {
  std::unordered_map<const std::string*, CaptureCall> names;
  std::vector<RecordedCalls> out;
  const auto& calls = rank.kineto.device.calls;
  bool open = false;
  bool whole = false;
  for (std::size_t c = 0; c < calls.size(); ++c) {  // by start, of all threads
    const auto [known, added] = names.try_emplace(calls[c].name);
    if (added) {
      known->second = CaptureCallOf(*calls[c].name);
    }
    switch (known->second) {
      case CaptureCall::kOther:
        break;
      case CaptureCall::kBegin:
        whole = !open;  // of two at a time, none is known
        if (open) {
          out.back().complete = false;
        }
        out.emplace_back();
        open = true;
        break;
      case CaptureCall::kEnd:
        if (!open && (out.empty() || whole)) {
          out.emplace_back();  // began before the file
        } else if (!out.empty()) {
          out.back().complete = whole;
        }
        open = false;
        break;
      default:
        // What launches at once is not recorded.
        if (open && rank.links.calls[c].events.empty()) {
          out.back().calls.push_back(static_cast<std::int32_t>(c));
          out.back().kinds.push_back(known->second);
        }
    }
  }
  return out;
}

// Not what a program marked, nor compiled code: an operation that launches by itself.
bool IsOperator(const RankCapture& rank, std::int32_t operation) {
  const HostNode* const host = rank.HostOf(operation);
  const std::string& name = *rank.Op(operation).name;
  return host != nullptr && host->scope != Scope::kUser &&
         (CompiledNameOf(name) == CompiledName::kNone || name.find("triton_") != std::string::npos);
}

// That the device's work is of: the operation that becomes a node, else the innermost one.
std::int32_t OperationOfCall(const RankCapture& rank, std::int32_t call) {
  const CallLink& link = rank.links.calls[static_cast<std::size_t>(call)];
  if (link.node >= 0) {
    return link.node;
  }
  return link.operation >= 0 && IsOperator(rank, link.operation) ? link.operation : -1;
}

RecordedGraph Take(const RankCapture& rank, const RecordedCalls& recorded) {
  RecordedGraph graph{.named = true};
  std::map<std::int32_t, std::int32_t> places;  // by operation
  for (std::size_t i = 0; i < recorded.calls.size(); ++i) {
    const RuntimeCall& call = rank.Call(recorded.calls[i]);
    RecordedNode& node = graph.nodes.emplace_back();
    node.kind = recorded.kinds[i] == CaptureCall::kMemcpy   ? DeviceEvent::Kind::kMemcpy
                : recorded.kinds[i] == CaptureCall::kMemset ? DeviceEvent::Kind::kMemset
                                                            : DeviceEvent::Kind::kKernel;
    if (call.kernel != nullptr) {
      node.kernel = *call.kernel;
    }
    graph.named &= node.kind != DeviceEvent::Kind::kKernel || call.kernel != nullptr;
    const std::int32_t operation = OperationOfCall(rank, recorded.calls[i]);
    if (operation < 0) {
      continue;
    }
    const auto [place, added] =
        places.try_emplace(operation, static_cast<std::int32_t>(graph.operations.size()));
    if (added) {
      graph.operations.push_back(DescribeOperation(rank, operation));
    }
    node.operation = place->second;
  }
  return graph;
}

}  // namespace

RecordedOperation DescribeOperation(const RankCapture& rank, std::int32_t operation) {
  RecordedOperation out{.name = *rank.Op(operation).name, .parent = rank.FrameOf(operation)};
  const OpInfo& info = rank.InfoOf(operation);
  if (info.kind == OpKind::kWork) {
    out.op_class = info.op_class;
  }
  if (const HostNode* host = rank.HostOf(operation)) {
    out.op_schema = *host->op_schema;
    out.inputs = host->inputs;
    out.outputs = host->outputs;
    out.results_inferred = host->results_inferred;
  }
  return out;
}

std::vector<RecordedGraph> TakeRecordedGraphs(RankCapture& rank) {
  std::vector<RecordedGraph> out;
  for (const RecordedCalls& recorded : FindRecordedCalls(rank)) {
    if (!recorded.complete) {
      rank.diagnostics.Count("graph_recording_cut", rank.label);
    } else if (!recorded.calls.empty()) {
      out.push_back(Take(rank, recorded));
    }
  }
  return out;
}

std::vector<std::int32_t> RecordedOperations(const RankCapture& rank) {
  std::vector<std::int32_t> out;
  for (const RecordedCalls& recorded : FindRecordedCalls(rank)) {
    for (const std::int32_t call : recorded.calls) {
      if (const std::int32_t operation = OperationOfCall(rank, call); operation >= 0) {
        out.push_back(operation);
      }
    }
  }
  return out;
}

}  // namespace reprise::pytorch
