// Traces as a GPU's: one host thread that launches small operations onto streams.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/replayer/small_trace.h"

namespace reprise {

class StreamTrace {
 public:
  static constexpr std::int64_t kHostNs = 2'000;
  static constexpr std::int64_t kKernelNs = 1'000;

  // A piece of the host thread; a wait if it depends on device nodes.
  std::uint64_t AddHost(const std::vector<std::uint64_t>& waits_for = {}) {
    Node& node = Add("aten::view", {Actor::Kind::kThread, 1, -1}, last_host_, EdgeReason::kThread);
    node.kind = waits_for.empty() ? OpKind::kMetadata : OpKind::kWait;
    node.duration_ns = kHostNs;
    for (const std::uint64_t id : waits_for) {
      node.deps.push_back({id, EdgeReason::kSync, false});
    }
    now_ns_ += kHostNs;
    return last_host_ = node.id;
  }

  // A launching piece and its kernel: add of 64 numbers on `stream`, after `events` of other
  // streams too.
  std::uint64_t AddKernel(std::int64_t stream, const std::vector<std::uint64_t>& events = {}) {
    const std::int64_t first = 3 * stream;
    return AddDeviceNode(
        stream, events, "aten::add",
        {TensorValue(first, {64}), TensorValue(first + 1, {64}), Value{std::int64_t{1}}},
        {TensorValue(first + 2, {64})});
  }

  // A kernel that takes a while and little memory: the product of two n x n matrices.
  std::uint64_t AddLongKernel(std::int64_t stream, std::int64_t n) {
    return AddDeviceNode(stream, {}, "aten::mm",
                         {TensorValue(1000, {n, n}), TensorValue(1001, {n, n})},
                         {TensorValue(1002, {n, n})});
  }

  std::uint64_t AddDeviceNode(std::int64_t stream, const std::vector<std::uint64_t>& events,
                              const std::string& op, ValueList inputs, ValueList outputs) {
    const std::uint64_t launch = AddHost();
    std::uint64_t& last = last_of_stream_[stream];
    Node& node =
        Add("void kernel(float*)", {Actor::Kind::kStream, stream, 0}, last, EdgeReason::kStream);
    node.op = op;
    node.op_class = FindOperator(op)->op_class;
    node.deps.push_back({launch, EdgeReason::kLaunch, false});
    for (const std::uint64_t id : events) {
      node.deps.push_back({id, EdgeReason::kEvent, false});
    }
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    node.duration_ns = kKernelNs;
    return last = node.id;
  }

  [[nodiscard]] TraceMetadata Metadata() const {
    TraceMetadata metadata;
    metadata.source = "test";
    metadata.steps = {{"ProfilerStep#1", 0, now_ns_ + kKernelNs}};
    return metadata;
  }

  // As a trace set of one rank.
  [[nodiscard]] Status Write(const std::string& directory) const {
    REPRISE_ASSIGN(auto writer, EtWriter::Create(directory + "/streams.0.et", Metadata()));
    for (const Node& node : nodes) {
      REPRISE_TRY(writer->Write(node));
    }
    REPRISE_TRY(writer->Close());
    return WriteGroups(directory, {{"0", {"0", "default_pg", {0}}}});
  }

  std::vector<Node> nodes;

 private:
  Node& Add(const std::string& name, Actor actor, std::uint64_t previous, EdgeReason reason) {
    Node& node = nodes.emplace_back();
    node.id = nodes.size() + 10;
    node.name = name;
    node.type = NodeType::kComp;
    node.actor = actor;
    node.step = 0;
    node.start_ns = now_ns_;
    if (previous != 0) {
      node.deps.push_back({previous, reason, false});
    }
    return node;
  }

  std::int64_t now_ns_ = 0;
  std::uint64_t last_host_ = 0;
  std::map<std::int64_t, std::uint64_t> last_of_stream_;
};

}  // namespace reprise
