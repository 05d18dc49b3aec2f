// Small traces for the replayer's tests: a host thread that computes and communicates.
#pragma once

#include <string>
#include <vector>

#include "et_schema/graph.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"

namespace reprise {

inline Value TensorValue(std::int64_t incarnation, std::vector<std::int64_t> shape,
                         DType dtype = DType::kFloat32) {
  TensorDesc tensor;
  tensor.tensor_id = tensor.storage_id = incarnation + 1;
  tensor.incarnation = incarnation;
  tensor.elements = ElementCount(shape);
  tensor.dtype = dtype;
  tensor.strides = ContiguousStrides(shape);
  tensor.shape = std::move(shape);
  tensor.device = "cpu";
  return Value{tensor};
}

// Appends nodes of one thread, each waiting for the previous one.
class ThreadTrace {
 public:
  static constexpr std::int64_t kGapNs = 10'000;

  Node& Add(const std::string& name, OpKind kind, std::int64_t duration_ns) {
    Node node;
    node.id = nodes.size() + 10;
    node.name = name;
    node.kind = kind;
    node.op_class = FindOperator(name) ? FindOperator(name)->op_class : OpClass::kOther;
    node.type = NodeType::kComp;
    node.actor = {Actor::Kind::kThread, 1, -1};
    node.step = 0;
    if (last_ != 0) {
      node.deps.push_back({last_, EdgeReason::kThread, false});
    }
    node.start_ns = end_ns + kGapNs;
    node.delay_ns = kGapNs;
    node.duration_ns = duration_ns;
    end_ns = node.start_ns + duration_ns;
    last_ = node.id;
    nodes.push_back(std::move(node));
    return nodes.back();
  }

  Node& AddOp(const std::string& name, ValueList inputs, ValueList outputs,
              std::int64_t duration_ns = 100'000) {
    Node& node = Add(name, OpKind::kWork, duration_ns);
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    return node;
  }

  // issuing piece → transfer → wait, as the converter writes a synchronous collective.
  void AddTransfer(CommSpec spec, const Value& tensor, std::int64_t duration_ns = 200'000) {
    const std::uint64_t issue = Add("c10d::allreduce_", OpKind::kMetadata, 5'000).id;
    Node transfer;
    transfer.id = nodes.size() + 10;
    transfer.name = "gloo:all_reduce";
    transfer.kind = OpKind::kComm;
    transfer.op_class = OpClass::kComm;
    transfer.type = spec.kind == CommKind::kSend   ? NodeType::kCommSend
                    : spec.kind == CommKind::kRecv ? NodeType::kCommRecv
                                                   : NodeType::kCommColl;
    transfer.actor = {Actor::Kind::kGroup, 0, -1};
    transfer.step = 0;
    transfer.deps = {{issue, EdgeReason::kLaunch, false}};
    transfer.start_ns = end_ns;
    transfer.duration_ns = transfer.transfer_ns = duration_ns;
    transfer.comm = std::move(spec);
    transfer.inputs = transfer.outputs = {tensor};
    const std::uint64_t id = transfer.id;
    end_ns += duration_ns;
    nodes.push_back(std::move(transfer));
    Node& wait = Add("c10d::allreduce_", OpKind::kWait, 1'000);
    wait.deps.push_back({id, EdgeReason::kCommWait, false});
  }

  TraceMetadata Metadata(int rank, int world_size) const {
    TraceMetadata metadata;
    metadata.rank = rank;
    metadata.world_size = world_size;
    metadata.source = "test";
    metadata.steps = {{"ProfilerStep#1", 0, end_ns + kGapNs}};
    metadata.ranges = ranges;
    return metadata;
  }

  std::vector<Node> nodes;
  std::vector<Range> ranges;
  std::int64_t end_ns = 0;

 private:
  std::uint64_t last_ = 0;
};

inline CommSpec AllReduceSpec(std::int64_t bytes, std::int64_t index = 0) {
  CommSpec spec;
  spec.kind = CommKind::kAllReduce;
  spec.group = "0";
  spec.index = index;
  spec.dtype = DType::kFloat32;
  spec.in_bytes = spec.out_bytes = bytes;
  return spec;
}

inline Status WriteRank(const std::string& directory, const std::string& name,
                        const ThreadTrace& trace, int rank, int world_size) {
  const std::string path = directory + "/" + name + "." + std::to_string(rank) + ".et";
  REPRISE_ASSIGN(auto writer, EtWriter::Create(path, trace.Metadata(rank, world_size)));
  for (const Node& node : trace.nodes) {
    REPRISE_TRY(writer->Write(node));
  }
  return writer->Close();
}

}  // namespace reprise
