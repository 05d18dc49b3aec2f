#include "predict/workload/emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace reprise {
namespace {

constexpr std::int64_t kCallingThread = 1;
constexpr std::int64_t kAutogradThread = 2;
constexpr std::int64_t kComputeStream = 7;  // PyTorch's default stream, as profilers number it
constexpr std::int64_t kFirstTransferStream = 20;

OpInfo InfoOf(std::string_view name) {
  return FindOperator(name).value_or(OpInfo{OpClass::kOther, OpKind::kWork});
}

struct TransferNames {
  std::string_view call, kernel;
};
// As c10d and NCCL name them. The algorithm and protocol, which NCCL adds, are its choice.
TransferNames NamesOf(CommKind kind) {
  switch (kind) {
    case CommKind::kAllReduce:
      return {"c10d::allreduce_", "ncclDevKernel_AllReduce"};
    case CommKind::kAllGather:
      return {"c10d::_allgather_base_", "ncclDevKernel_AllGather"};
    case CommKind::kReduceScatter:
      return {"c10d::_reduce_scatter_base_", "ncclDevKernel_ReduceScatter"};
    case CommKind::kAllToAll:
      return {"c10d::alltoall_base_", "ncclDevKernel_SendRecv"};
    case CommKind::kBroadcast:
      return {"c10d::broadcast_", "ncclDevKernel_Broadcast"};
    case CommKind::kSend:
      return {"c10d::send", "ncclDevKernel_SendRecv"};
    case CommKind::kRecv:
      return {"c10d::recv_", "ncclDevKernel_SendRecv"};
    default:
      return {"c10d::barrier", "ncclDevKernel_AllReduce"};
  }
}

}  // namespace

std::int64_t BytesOfTensor(const TensorDesc& tensor) {
  return tensor.elements * SizeOf(tensor.dtype);
}

Emitter::Emitter(bool cuda, NodeSink sink) : cuda_(cuda), sink_(std::move(sink)) {}

TensorDesc Emitter::New(DType dtype, std::vector<std::int64_t> shape, StorageUse use) {
  TensorDesc tensor;
  tensor.incarnation = static_cast<std::int64_t>(uses_.size());
  uses_.push_back(use);
  tensor.tensor_id = next_tensor_++;
  tensor.storage_id = next_tensor_++;
  tensor.dtype = dtype;
  tensor.elements = ElementCount(shape);
  tensor.strides = ContiguousStrides(shape);
  tensor.shape = std::move(shape);
  tensor.device = cuda_ ? "cuda:0" : "cpu";
  return tensor;
}

TensorDesc Emitter::NewOnHost(DType dtype, std::vector<std::int64_t> shape) {
  TensorDesc tensor = New(dtype, std::move(shape));
  tensor.device = "cpu";
  return tensor;
}

TensorDesc Emitter::Part(const TensorDesc& of, std::int64_t offset,
                         std::vector<std::int64_t> shape) {
  std::vector<std::int64_t> strides = ContiguousStrides(shape);
  return Alias(of, std::move(shape), std::move(strides), of.offset + offset);
}

TensorDesc Emitter::Alias(const TensorDesc& of, std::vector<std::int64_t> shape,
                          std::vector<std::int64_t> strides, std::int64_t offset) {
  TensorDesc tensor;
  tensor.incarnation = of.incarnation;
  tensor.storage_id = of.storage_id;
  tensor.tensor_id = next_tensor_++;
  tensor.dtype = of.dtype;
  tensor.device = of.device;
  tensor.offset = offset;
  tensor.elements = ElementCount(shape);
  tensor.shape = std::move(shape);
  tensor.strides = std::move(strides);
  return tensor;
}

Node& Emitter::Begin(std::string_view name, OpKind kind, OpClass op_class) {
  Node& node = node_;
  node.id = next_id_++;
  node.name = name;
  node.type = NodeType::kComp;
  node.kind = kind;
  node.op_class = op_class;
  node.start_ns = now_++;  // no time: the order of issue
  node.step = step_;
  node.rf_id = static_cast<std::int64_t>(node.id);
  node.seq_id = sequence;
  node.parent = parent;
  node.op.clear();
  node.num_ops = node.tensor_bytes = -1;  // a sink may have set them of the one before
  node.deps.clear();
  node.device_work.reset();
  node.comm.reset();
  return node;
}

void Emitter::Finish(Node& node) {
  ++nodes_;
  if (status_) {
    status_ = sink_(node, facts);
  }
}

void Emitter::HostNode(std::string_view name, OpKind kind, OpClass op_class, ValueList inputs,
                       ValueList outputs) {
  Node& node = Begin(name, kind, op_class);
  node.actor = {Actor::Kind::kThread, thread_, -1};
  std::uint64_t& last = last_of_thread_[thread_];
  for (const std::uint64_t before : {last, std::exchange(handed_over_, 0)}) {
    if (before != 0) {
      node.deps.push_back({before, EdgeReason::kThread});
    }
  }
  const HostPlace forward = std::exchange(forward_, {});
  const bool known = std::any_of(node.deps.begin(), node.deps.end(), [&](const Dependency& dep) {
    return dep.node_id == forward.node_id;
  });
  if (forward.node_id != 0 && forward.thread != thread_ && !known) {
    node.deps.push_back({forward.node_id, EdgeReason::kFwdBwd});
  }
  last = node.id;
  node.deps.insert(node.deps.end(), host_waits_.begin(), host_waits_.end());
  host_waits_.clear();
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  last_host_ = node.id;
  Finish(node);
}

void Emitter::DeviceNode(std::string_view name, std::string_view op, OpClass op_class,
                         ValueList inputs, ValueList outputs) {
  Node& node = Begin(name, OpKind::kWork, op_class);
  node.op = op;
  node.actor = {Actor::Kind::kStream, kComputeStream, 0};
  if (last_compute_ != 0) {
    node.deps.push_back({last_compute_, EdgeReason::kStream});
  }
  node.deps.push_back({last_host_, EdgeReason::kLaunch});
  for (const std::uint64_t transfer : compute_waits_) {
    node.deps.push_back({transfer, EdgeReason::kEvent});
  }
  compute_waits_.clear();
  node.device_work = DeviceWork{.correlation = correlation_++};
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  last_compute_ = node.id;
  Finish(node);
}

void Emitter::OnAutogradThread(bool on) {
  const std::int64_t thread = on && cuda_ ? kAutogradThread : kCallingThread;
  if (thread != thread_) {
    thread_ = thread;
    handed_over_ = last_host_;
  }
}

void Emitter::Host(std::string_view name, ValueList inputs, ValueList outputs) {
  HostNode(name, OpKind::kMetadata, OpClass::kMetadata, std::move(inputs), std::move(outputs));
}

void Emitter::Work(std::string_view name, ValueList inputs, ValueList outputs) {
  const OpInfo info = InfoOf(name);
  if (!cuda_) {
    HostNode(name, OpKind::kWork, info.op_class, std::move(inputs), std::move(outputs));
    return;
  }
  HostNode(name, OpKind::kMetadata, OpClass::kHost, {}, {});
  DeviceNode(name, name, info.op_class, std::move(inputs), std::move(outputs));
}

void Emitter::ReadItem(const TensorDesc& tensor) {
  if (!cuda_) {
    HostNode("aten::item", OpKind::kWait, OpClass::kHost, Args(tensor), {});
    return;
  }
  const std::string outer = std::exchange(parent, "aten::item");
  HostNode("aten::_local_scalar_dense", OpKind::kMetadata, OpClass::kHost, {}, {});
  DeviceNode("Memcpy DtoH (Device -> Pageable)", "aten::_local_scalar_dense", OpClass::kMemcpy, {},
             {});
  host_waits_.push_back({last_compute_, EdgeReason::kSync});
  HostNode("cudaStreamSynchronize", OpKind::kWait, OpClass::kHost, {}, {});
  parent = outer;
}

void Emitter::Synchronize(Issued transfer) {
  if (!cuda_) {
    return;
  }
  for (const std::uint64_t node : {last_compute_, transfer.node_id}) {
    if (node != 0) {
      host_waits_.push_back({node, EdgeReason::kSync});
    }
  }
  HostNode("cudaStreamSynchronize", OpKind::kWait, OpClass::kHost, {}, {});
}

std::int64_t Emitter::StreamOf(const std::string& channel) {
  const auto [at, added] =
      streams_.emplace(channel, kFirstTransferStream + static_cast<std::int64_t>(streams_.size()));
  return at->second;
}

Issued Emitter::Transfer(const TransferCall& call) {
  const TransferNames names = NamesOf(call.kind);
  HostNode(names.call, OpKind::kMetadata, OpClass::kHost, {}, {});
  const std::string& channel = call.channel.empty() ? call.group : call.channel;
  Node& node = Begin(cuda_ ? names.kernel : names.call, OpKind::kComm, OpClass::kComm);
  node.type = TypeOfTransfer(call.kind);
  CommSpec spec{.kind = call.kind, .group = call.group};
  Sequence& sequence_of =
      sequences_[fmt::format("{} {} {}", call.group, call.peer,
                             IsPointToPoint(call.kind) ? Name(call.kind) : "collective")];
  spec.index = sequence_of.next++;
  spec.sequence = spec.index;
  spec.peer = call.peer;
  spec.dtype = call.in.IsDefined() ? call.in.dtype : call.out.dtype;
  spec.op = call.reduce;
  spec.in_bytes = BytesOfTensor(call.in);
  spec.out_bytes = BytesOfTensor(call.out);
  spec.in_splits = call.in_splits;
  spec.out_splits = call.out_splits;
  spec.op_recorded = true;
  spec.async = call.async;
  if (cuda_) {
    const std::int64_t stream = StreamOf(channel);
    node.actor = {Actor::Kind::kStream, stream, 0};
    node.op = names.call;
    node.device_work = DeviceWork{.correlation = correlation_++};
    if (std::uint64_t& last = last_of_stream_[stream]; last != 0) {
      node.deps.push_back({last, EdgeReason::kStream});
    }
    node.deps.push_back({last_host_, EdgeReason::kLaunch});
    if (last_compute_ != 0) {
      node.deps.push_back({last_compute_, EdgeReason::kEvent});
    }
    // What the compute stream waits for comes before its next kernel, so before this, too.
    for (const std::uint64_t transfer : compute_waits_) {
      if (transfer != last_of_stream_[stream]) {
        node.deps.push_back({transfer, EdgeReason::kEvent});
      }
    }
    last_of_stream_[stream] = node.id;
  } else {
    node.actor = {Actor::Kind::kGroup, 0, -1};
    node.deps.push_back({last_host_, EdgeReason::kLaunch});
    if (sequence_of.last_id != 0) {
      node.deps.push_back({sequence_of.last_id, EdgeReason::kGroup});
    }
  }
  sequence_of.last_id = node.id;
  node.inputs = call.in.IsDefined() ? Args(call.in) : ValueList();
  node.outputs = call.out.IsDefined() ? Args(call.out) : ValueList();
  node.comm = std::move(spec);
  const Issued issued{node.id};
  facts.group = call.group;
  Finish(node);
  facts.group = {};
  return issued;
}

void Emitter::Wait(Issued issued) {
  if (issued.node_id == 0) {
    return;
  }
  if (cuda_) {
    compute_waits_.push_back(issued.node_id);
    return;
  }
  host_waits_.push_back({issued.node_id, EdgeReason::kCommWait});
  HostNode("c10d::wait", OpKind::kWait, OpClass::kHost, {}, {});
}

}  // namespace reprise
