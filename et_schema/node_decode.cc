// Wire fields and attributes → NodeView. What a foreign file lacks is derived here, in one place.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "et_schema/node_stream.h"
#include "et_schema/utf8.h"

namespace reprise {
namespace {

constexpr std::uint32_t kNodeTypes = 8;
constexpr std::int64_t kInferredReason = 128;
constexpr auto kLastReason = static_cast<std::int64_t>(EdgeReason::kControl);

std::int64_t MicrosToNs(std::uint64_t micros) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max() / 1000;
  return static_cast<std::int64_t>(std::min(micros, kMax)) * 1000;
}

std::int32_t ToInt32(std::int64_t value) { return static_cast<std::int32_t>(value); }

std::optional<GroupCertainty> ParseCertainty(std::string_view text) {
  if (text == "recorded") {
    return GroupCertainty::kRecorded;
  }
  if (text == "inferred") {
    return GroupCertainty::kInferred;
  }
  if (text == "unknown") {
    return GroupCertainty::kUnknown;
  }
  return std::nullopt;
}

}  // namespace

bool NodeDecoder::Decode(std::string_view message, std::uint64_t offset, NodeView& view) {
  offset_ = offset;
  if (!raw_.Parse(message)) {
    return false;
  }
  DecodeNode(view);
  return true;
}

void NodeDecoder::DecodeNode(NodeView& view) {
  CountNamed("unknown_attribute", raw_.unknown_attributes);
  CountNamed("wrong_attribute_type", raw_.mistyped_attributes);
  view.id = raw_.id;
  view.name = Clean(raw_.name, clean_name_);
  view.parent = Clean(raw_.Text(Attribute::kParent), clean_parent_);
  view.op_schema = Clean(raw_.Text(Attribute::kOpSchema), clean_schema_);
  view.op = Clean(raw_.Text(Attribute::kOp), clean_op_);
  view.type = raw_.type < kNodeTypes ? static_cast<NodeType>(raw_.type) : NodeType::kInvalid;
  if (raw_.type >= kNodeTypes) {
    Count("unknown_node_type");
  }
  view.start_ns = raw_.Has(Attribute::kStartNs) ? raw_.Number(Attribute::kStartNs, 0)
                                                : MicrosToNs(raw_.start_time_micros);
  view.duration_ns = raw_.Has(Attribute::kDurationNs) ? raw_.Number(Attribute::kDurationNs, 0)
                                                      : MicrosToNs(raw_.duration_micros);
  view.delay_ns = raw_.Number(Attribute::kDelayNs, 0);
  view.transfer_ns = raw_.Number(Attribute::kTransferNs, -1);
  view.tracing_ns = raw_.Number(Attribute::kTracingNs, 0);
  view.tracing_delay_ns = raw_.Number(Attribute::kTracingDelayNs, 0);
  view.step = ToInt32(raw_.Number(Attribute::kStep, -1));
  view.rf_id = raw_.Number(Attribute::kRfId, -1);
  view.seq_id = raw_.Number(Attribute::kSeqId, -1);
  const bool cost_known = raw_.Number(Attribute::kCostKnown, 1) != 0;
  view.num_ops = cost_known ? raw_.Number(Attribute::kNumOps, -1) : -1;
  view.tensor_bytes = cost_known ? raw_.Number(Attribute::kTensorSize, -1) : -1;
  view.results_inferred = raw_.Number(Attribute::kResultsInferred, 0) != 0;
  DecodeKind(view);
  DecodeActor(view);
  DecodeDeps(view);
  DecodeComm(view);
  DecodeDeviceWork(view);
  DecodeArgs(view);
}

// A device node of ours has a correlation, if only -1.
void NodeDecoder::DecodeDeviceWork(NodeView& view) {
  view.device_work.reset();
  if (!raw_.Has(Attribute::kCorrelation)) {
    return;
  }
  DeviceWork& work = view.device_work.emplace();
  work.correlation = raw_.Number(Attribute::kCorrelation, -1);
  work.launch_recorded = raw_.Number(Attribute::kLaunchRecorded, 1) != 0;
  const auto three = [this](Attribute attribute, std::array<std::int32_t, 3>& out) {
    const std::vector<std::int64_t>& numbers = raw_.Numbers(attribute);
    for (std::size_t i = 0; i < std::min(numbers.size(), out.size()); ++i) {
      out[i] = ToInt32(numbers[i]);
    }
  };
  three(Attribute::kGrid, work.grid);
  three(Attribute::kBlock, work.block);
  work.registers_per_thread = ToInt32(raw_.Number(Attribute::kRegistersPerThread, -1));
  work.shared_memory_bytes = raw_.Number(Attribute::kSharedMemoryBytes, -1);
  work.copied_bytes = raw_.Number(Attribute::kCopiedBytes, -1);
}

void NodeDecoder::DecodeKind(NodeView& view) {
  const auto kind = ParseOpKind(raw_.Text(Attribute::kOpKind));
  const auto op_class = ParseOpClass(raw_.Text(Attribute::kOpClass));
  if (kind && op_class) {
    view.kind = *kind;
    view.op_class = *op_class;
    return;
  }
  if (raw_.Has(Attribute::kOpKind) || raw_.Has(Attribute::kOpClass)) {
    Count("unknown_op_kind");
  }
  if (IsTransfer(view.type)) {
    view.kind = OpKind::kComm;
    view.op_class = OpClass::kComm;
  } else if (view.type == NodeType::kMetadata) {
    view.kind = OpKind::kMetadata;
    view.op_class = OpClass::kMetadata;
  } else if (view.type == NodeType::kMemLoad || view.type == NodeType::kMemStore) {
    view.kind = OpKind::kWork;
    view.op_class = OpClass::kMemcpy;
  } else {
    const auto known = FindOperator(view.name);
    view.kind = known ? known->kind : OpKind::kWork;
    view.op_class = known ? known->op_class : OpClass::kOther;
  }
}

void NodeDecoder::DecodeActor(NodeView& view) {
  const std::string_view actor = raw_.Text(Attribute::kActor);
  const std::int64_t stream = raw_.Number(Attribute::kStream, 0);
  const std::int64_t thread = raw_.Number(Attribute::kTid, 0);
  view.actor = {Actor::Kind::kThread, thread, ToInt32(raw_.Number(Attribute::kDevice, -1))};
  if (actor == "stream") {
    view.actor.kind = Actor::Kind::kStream;
    view.actor.id = stream;
  } else if (actor == "group") {
    view.actor.kind = Actor::Kind::kGroup;
  } else if (!native_) {
    if (IsTransfer(view.type)) {
      view.actor = {Actor::Kind::kGroup, 0, -1};
    } else if (raw_.Has(Attribute::kIsCpuOp) && raw_.Number(Attribute::kIsCpuOp, 1) == 0) {
      view.actor = {Actor::Kind::kStream, stream, 0};
    }
  } else if (!actor.empty() && actor != "thread") {
    Count("unknown_actor");
  }
}

void NodeDecoder::DecodeDeps(NodeView& view) {
  const std::vector<std::int64_t>& reasons = raw_.Numbers(Attribute::kDepReasons);
  view.deps.resize(raw_.data_deps.size());
  if (raw_.Has(Attribute::kDepReasons) && reasons.size() != view.deps.size()) {
    Count("dep_reasons_mismatch");
  }
  for (std::size_t i = 0; i < view.deps.size(); ++i) {
    const std::int64_t number = i < reasons.size() ? reasons[i] : 0;
    const std::int64_t reason = number & ~kInferredReason;
    const bool known = reason >= 0 && reason <= kLastReason;
    if (!known) {
      Count("unknown_edge_reason");
    }
    view.deps[i] = {.node_id = raw_.data_deps[i],
                    .reason = known ? static_cast<EdgeReason>(reason) : EdgeReason::kUnknown,
                    .inferred = known && (number & kInferredReason) != 0};
  }
  // Reprise writes an edge that only orders into both lists, in one order.
  const auto& data = raw_.data_deps;
  auto next = data.begin();
  for (const std::uint64_t id : raw_.ctrl_deps) {
    const auto found = std::find(next, data.end(), id);
    if (found != data.end()) {
      next = found + 1;
    } else if (std::find(data.begin(), next, id) == next) {
      view.deps.push_back({.node_id = id, .reason = EdgeReason::kControl});
    }
  }
}

void NodeDecoder::DecodeComm(NodeView& view) {
  view.comm.reset();
  if (!IsTransfer(view.type)) {
    return;
  }
  CommSpec& spec = view.comm.emplace();
  DecodeCommKind(spec);
  DecodeCommSizes(spec);
  spec.group = Clean(raw_.Text(Attribute::kPgName), clean_group_);
  spec.sequence = raw_.Number(Attribute::kCommSequence, -1);
  spec.dtype = ParseDType(raw_.Text(Attribute::kCommDtype));
  spec.root = ToInt32(raw_.Number(Attribute::kCommRoot, -1));
  spec.tag = ToInt32(raw_.Number(Attribute::kCommTag, 0));
  const Attribute other = spec.kind == CommKind::kSend ? Attribute::kCommDst : Attribute::kCommSrc;
  spec.peer = ToInt32(
      raw_.Number(Attribute::kCommPeer, IsPointToPoint(spec.kind) ? raw_.Number(other, -1) : -1));
  if (const auto op = ParseReduceOp(raw_.Text(Attribute::kCommReduceOp))) {
    spec.op = *op;
  } else if (raw_.Has(Attribute::kCommReduceOp)) {
    Count("unknown_reduce_op");
  }
  spec.op_recorded = raw_.Number(Attribute::kCommReduceOpRecorded, 0) != 0;
  spec.async = raw_.Number(Attribute::kCommAsync, 0) != 0;
  const auto certainty = ParseCertainty(raw_.Text(Attribute::kCommCertainty));
  const bool named = raw_.Has(Attribute::kPgName);
  spec.certainty = certainty.value_or(named ? GroupCertainty::kRecorded : GroupCertainty::kUnknown);
  if (raw_.Has(Attribute::kCommIndex)) {
    spec.index = raw_.Number(Attribute::kCommIndex, 0);
  } else {  // foreign: by order in the file
    const bool p2p = IsPointToPoint(spec.kind);
    spec.index = next_index_[fmt::format("{}/{}/{}", spec.group, p2p ? Name(spec.kind) : "",
                                         p2p ? spec.peer : -1)]++;
  }
}

void NodeDecoder::DecodeCommKind(CommSpec& spec) {
  // CollectiveCommType → CommKind.
  constexpr std::array kKinds = {CommKind::kAllReduce,     CommKind::kReduce,
                                 CommKind::kAllGather,     CommKind::kGather,
                                 CommKind::kScatter,       CommKind::kBroadcast,
                                 CommKind::kAllToAll,      CommKind::kReduceScatter,
                                 CommKind::kReduceScatter, CommKind::kBarrier};
  const auto type = static_cast<NodeType>(raw_.type);
  if (type != NodeType::kCommColl) {
    spec.kind = type == NodeType::kCommSend ? CommKind::kSend : CommKind::kRecv;
    return;
  }
  const std::int64_t number = raw_.Number(Attribute::kCommType, -1);
  if (number >= 0 && number < static_cast<std::int64_t>(kKinds.size())) {
    spec.kind = kKinds.at(static_cast<std::size_t>(number));
  } else {
    Count(raw_.Has(Attribute::kCommType) ? "unknown_comm_type" : "missing_comm_type");
  }
}

void NodeDecoder::DecodeCommSizes(CommSpec& spec) {
  const std::int64_t size = raw_.Number(Attribute::kCommSize, 0);
  if (!raw_.Has(Attribute::kCommInBytes) && spec.kind != CommKind::kBarrier) {
    // One number for both sides: exact for all_reduce and broadcast, else a guess.
    Count(raw_.Has(Attribute::kCommSize) ? "comm_size_without_sides" : "missing_comm_size");
  }
  spec.in_bytes = raw_.Number(Attribute::kCommInBytes, spec.kind == CommKind::kRecv ? 0 : size);
  spec.out_bytes = raw_.Number(Attribute::kCommOutBytes, spec.kind == CommKind::kSend ? 0 : size);
  spec.largest_bytes = raw_.Number(Attribute::kCommLargestBytes, -1);
  spec.in_splits = raw_.Numbers(Attribute::kCommInSplits);
  spec.out_splits = raw_.Numbers(Attribute::kCommOutSplits);
}

void NodeDecoder::DecodeArgs(NodeView& view) {
  ArgProblems problems;
  if (!arg_parser_.Parse(raw_.inputs, raw_.outputs, raw_.Numbers(Attribute::kTensorIncarnations),
                         raw_.Numbers(Attribute::kTensorStrides), view.args, problems)) {
    Count("unparsable_arguments");
    return;
  }
  if (problems == ArgProblems{}) {
    return;
  }
  const std::pair<std::string_view, std::uint32_t> counters[] = {
      {"value_type_mismatch", problems.type_mismatch},
      {"value_without_type", problems.untyped},
      {"unknown_dtype", problems.unknown_dtype},
      {"value_out_of_range", problems.out_of_range},
      {"invalid_utf8", problems.invalid_utf8}};
  for (const auto& [name, count] : counters) {
    if (count > 0) {
      Count(name);
    }
  }
}

const Diagnostics& NodeDecoder::diagnostics() {
  for (auto& [name, count] : pending_) {
    if (count > 0) {
      diagnostics_.Count(name, {}, count);
      count = 0;
    }
  }
  return diagnostics_;
}

void NodeDecoder::Count(std::string_view name) {
  diagnostics_.Count(name, fmt::format("{}: node {} at byte {}", path_, raw_.id, offset_));
}

void NodeDecoder::CountNamed(std::string_view counter,
                             const std::vector<std::string_view>& attributes) {
  for (const std::string_view attribute : attributes) {
    // One example per attribute name; the names of a file are few.
    const std::string key = fmt::format("{}/{}", counter, Clean(attribute, clean_name_));
    auto [it, fresh] = pending_.try_emplace(key, 0);
    static_cast<void>(it);
    if (fresh) {
      diagnostics_.Count(counter,
                         fmt::format("{}: \"{}\", first in node {}", path_, attribute, raw_.id));
    } else {
      ++pending_.try_emplace(std::string(counter), 0).first->second;
    }
  }
}

std::string_view NodeDecoder::Clean(std::string_view text, std::string& scratch) {
  if (text.empty() || IsValidUtf8(text)) {
    return text;
  }
  Count("invalid_utf8");
  scratch = ReplaceInvalidUtf8(text);
  return scratch;
}

}  // namespace reprise
