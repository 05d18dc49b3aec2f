#include "converters/anonymize/anonymizer.h"

// Fields that a policy cannot drop are taken too: what is counted is the whole trace.

namespace reprise {

Node Anonymizer::Apply(const Node& node) {
  Node out;
  Take(Field::kId);
  out.id = *renaming_.NewId(node.id);
  Keep(Field::kType);
  out.type = node.type;
  Keep(Field::kOpKind);
  out.kind = node.kind;
  if (Keep(Field::kOpClass)) {
    out.op_class = node.op_class;
  }
  Names(node, out);
  Who(node, out);
  Edges(node, out);
  Times(node, out);
  if (Keep(Field::kStep, node.step >= 0)) {
    out.step = node.step;
  }
  if (Keep(Field::kRfId, node.rf_id >= 0)) {
    out.rf_id = node.rf_id;
  }
  if (Keep(Field::kSeqId, node.seq_id >= 0)) {
    out.seq_id = node.seq_id;
  }
  out.results_inferred = Keep(Field::kResultsInferred, node.results_inferred);
  out.inputs = Arguments(node.inputs, false);
  out.outputs = Arguments(node.outputs, true);
  Sizes(node, out);
  if (node.device_work) {
    out.device_work = Device(*node.device_work);
  }
  if (node.comm) {
    out.comm = Comm(*node.comm);
  }
  return out;
}

void Anonymizer::Names(const Node& in, Node& out) {
  const std::string of_class(in.comm ? Name(in.comm->kind) : Name(in.op_class));
  const Action name = Take(Field::kName);
  if (name == Action::kMap) {
    out.name = in.device_work || in.actor.kind == Actor::Kind::kStream ? MappedKernel(in.name)
                                                                       : MappedName(in.name);
  } else {
    out.name = name == Action::kKeep ? in.name : of_class;
  }
  if (!in.op.empty()) {
    const Action op = Take(Field::kOp);
    out.op = op == Action::kKeep      ? in.op
             : op == Action::kMap     ? MappedName(in.op)
             : op == Action::kCoarsen ? of_class
                                      : std::string();
  }
  if (!in.parent.empty()) {
    const Action parent = Take(Field::kParent);
    out.parent = parent == Action::kKeep  ? in.parent
                 : parent == Action::kMap ? MappedName(in.parent)
                                          : std::string();
  }
  if (Keep(Field::kOpSchema, !in.op_schema.empty())) {
    out.op_schema = in.op_schema;
  }
}

void Anonymizer::Who(const Node& in, Node& out) {
  Keep(Field::kActor);
  out.actor.kind = in.actor.kind;
  switch (in.actor.kind) {
    case Actor::Kind::kThread:
      out.actor.id =
          Take(Field::kTid) == Action::kKeep ? in.actor.id : renaming_.threads.Of(in.actor.id) + 1;
      break;
    case Actor::Kind::kStream:
      out.actor.id =
          Take(Field::kStream) == Action::kKeep ? in.actor.id : renaming_.streams.Of(in.actor.id);
      out.actor.device = Take(Field::kDevice) == Action::kKeep
                             ? in.actor.device
                             : static_cast<std::int32_t>(renaming_.devices.Of(in.actor.device));
      break;
    case Actor::Kind::kGroup:
      break;  // its id says nothing
  }
}

void Anonymizer::Edges(const Node& in, Node& out) {
  for (const Dependency& dep : in.deps) {
    if (!Keep(Field::kDataDeps)) {
      continue;
    }
    Dependency to{.node_id = renaming_.NewId(dep.node_id).value_or(renaming_.nodes)};
    if (Keep(Field::kDepReasons)) {
      to.reason = dep.reason;
      to.inferred = dep.inferred;
    }
    out.deps.push_back(to);
  }
}

void Anonymizer::Times(const Node& in, Node& out) {
  const TimeMap& times = setting_.times;
  Keep(Field::kStartNs);
  Keep(Field::kDurationNs);
  const std::int64_t end_ns = in.start_ns + in.duration_ns;
  out.start_ns = times.At(in.start_ns);
  out.duration_ns = times.At(end_ns) - out.start_ns;
  if (Keep(Field::kDelayNs)) {
    // A node whose edges went waits for nothing but its start.
    out.delay_ns = out.deps.empty() && !in.deps.empty()
                       ? out.start_ns
                       : out.start_ns - times.At(in.start_ns - in.delay_ns);
  }
  if (Keep(Field::kTransferNs, in.transfer_ns >= 0)) {
    out.transfer_ns = times.At(end_ns) - times.At(end_ns - in.transfer_ns);
  }
  if (Keep(Field::kTracingNs, in.tracing_ns > 0)) {
    out.tracing_ns = times.At(end_ns) - times.At(end_ns - in.tracing_ns);
  }
  if (Keep(Field::kTracingDelayNs, in.tracing_delay_ns > 0)) {
    out.tracing_delay_ns = out.start_ns - times.At(in.start_ns - in.tracing_delay_ns);
  }
}

void Anonymizer::Sizes(const Node& in, Node& out) {
  // Counted operations would give rounded sizes away.
  if (Keep(Field::kNumOps, in.num_ops >= 0) && setting_.sizes.Exact()) {
    out.num_ops = in.num_ops;
  }
  if (Keep(Field::kTensorSize, in.tensor_bytes >= 0)) {
    out.tensor_bytes = setting_.sizes.At(in.tensor_bytes);
  }
}

DeviceWork Anonymizer::Device(const DeviceWork& in) {
  DeviceWork out;
  if (in.correlation >= 0) {
    const Action action = Take(Field::kCorrelation);
    out.correlation = action == Action::kKeep  ? in.correlation
                      : action == Action::kMap ? renaming_.correlations.Of(in.correlation)
                                               : -1;
  }
  out.launch_recorded = !Keep(Field::kLaunchRecorded, !in.launch_recorded);
  if (Keep(Field::kGrid, in.grid != DeviceWork().grid)) {
    out.grid = in.grid;
  }
  if (Keep(Field::kBlock, in.block != DeviceWork().block)) {
    out.block = in.block;
  }
  if (Keep(Field::kRegistersPerThread, in.registers_per_thread >= 0)) {
    out.registers_per_thread = in.registers_per_thread;
  }
  if (Keep(Field::kSharedMemoryBytes, in.shared_memory_bytes >= 0)) {
    out.shared_memory_bytes = in.shared_memory_bytes;
  }
  if (Keep(Field::kCopiedBytes, in.copied_bytes >= 0)) {
    out.copied_bytes = setting_.sizes.At(in.copied_bytes);
  }
  return out;
}

CommSpec Anonymizer::Comm(const CommSpec& in) {
  CommSpec out;
  Keep(Field::kCommType);
  out.kind = in.kind;
  out.group = Take(Field::kPgName) == Action::kKeep ? in.group : MappedGroup(in.group);
  Keep(Field::kCommCertainty);
  out.certainty = in.certainty;
  Keep(Field::kCommIndex);
  out.index = in.index;
  Keep(Field::kCommPeer, in.peer >= 0);
  out.peer = in.peer;
  if (Keep(Field::kCommSequence, in.sequence >= 0)) {
    out.sequence = in.sequence;
  }
  if (Keep(Field::kCommDtype, in.dtype != DType::kUnknown)) {
    out.dtype = in.dtype;
  }
  if (Keep(Field::kCommRoot, in.root >= 0)) {
    out.root = in.root;
  }
  if (Keep(Field::kCommTag, in.tag != 0)) {
    out.tag = in.tag;
  }
  if (Keep(Field::kCommReduceOp)) {
    out.op = in.op;
    out.op_recorded = in.op_recorded;
  }
  out.async = Keep(Field::kCommAsync, in.async);
  if (Keep(Field::kCommBytes)) {
    out.in_bytes = in.in_bytes;
    out.out_bytes = in.out_bytes;
    out.largest_bytes = in.largest_bytes;
  }
  if (Keep(Field::kCommSplits, !in.in_splits.empty() || !in.out_splits.empty())) {
    out.in_splits = in.in_splits;
    out.out_splits = in.out_splits;
  }
  setting_.sizes.Apply(out);
  return out;
}

}  // namespace reprise
