// Wire fields and attributes → NodeView. What a foreign file lacks is derived here, in one place.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/utf8.h"
#include "et_schema/node_stream.h"
#include "et_schema/storage_fields.h"

namespace reprise {
namespace {

constexpr auto kNodeTypes = static_cast<std::uint32_t>(kNamesOf<NodeType>.size());
constexpr auto kLastReason = static_cast<std::int64_t>(EdgeReason::kControl);

std::int64_t MicrosToNs(std::uint64_t micros) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max() / 1000;
  return static_cast<std::int64_t>(std::min(micros, kMax)) * 1000;
}

std::int32_t ToInt32(std::int64_t value) { return static_cast<std::int32_t>(value); }

template <typename Enum>
std::optional<Enum> ParseNamed(std::string_view text) {
  if constexpr (std::is_same_v<Enum, DType>) {
    return ParseDType(text);
  } else if constexpr (std::is_same_v<Enum, ReduceOp>) {
    return ParseReduceOp(text);
  } else {
    return ParseName<Enum>(text);
  }
}

// What depends on other attributes is decided by the functions below.
constexpr bool IsDecidedApart(Attribute attribute) {
  return attribute == Attribute::kOpKind || attribute == Attribute::kOpClass ||
         attribute == Attribute::kCommType;
}

}  // namespace

bool NodeDecoder::Decode(std::string_view message, std::uint64_t offset, NodeView& view) {
  if (!raw_.Parse(message)) {
    return false;
  }
  DecodeRaw(offset, view);
  return true;
}

template <typename Row, typename Owner>
void NodeDecoder::Take(const Row& row, Owner& owner) {
  using Type = WrittenAs<Row>;
  using Value = typename Row::Value;
  constexpr Attribute kId = Row::kAttribute;
  Value& out = row.Of(owner);
  const Value& absent = row.Default();
  if constexpr (IsDecidedApart(kId)) {
    return;
  } else if constexpr (std::is_same_v<Type, field::Text>) {
    out = Clean(raw_.Text(kId), clean_texts_[static_cast<std::size_t>(kId)]);
  } else if constexpr (Type::kShape == field::Shape::kText) {
    out = ParseNamed<Value>(raw_.Text(kId)).value_or(absent);
  } else if constexpr (std::is_same_v<Value, bool>) {
    out = raw_.Number(kId, absent ? 1 : 0) != 0;
  } else if constexpr (Type::kShape == field::Shape::kNumber) {
    out = static_cast<Value>(raw_.Number(kId, absent));
  } else if constexpr (std::is_same_v<Type, field::Int32Triple>) {
    const std::vector<std::int64_t>& numbers = raw_.Numbers(kId);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = i < numbers.size() ? ToInt32(numbers[i]) : absent[i];
    }
  } else {
    out = raw_.Numbers(kId);
  }
}

void NodeDecoder::DecodeRaw(std::uint64_t offset, NodeView& view) {
  offset_ = offset;
  CountNamed("unknown_attribute", raw_.unknown_attributes);
  CountNamed("wrong_attribute_type", raw_.mistyped_attributes);
  view.id = raw_.id;
  view.name = Clean(raw_.name, clean_name_);
  view.type = raw_.type < kNodeTypes ? static_cast<NodeType>(raw_.type) : NodeType::kInvalid;
  if (raw_.type >= kNodeTypes) {
    Count("unknown_node_type");
  }
  if (raw_.unknown_fields > 0) {
    Count("unknown_node_field");
  }
  ForEachMember(kNodeFieldsOf<NodeView>, [&](const auto& row) { Take(row, view); });
  if (!raw_.Has(Attribute::kStartNs)) {
    view.start_ns = MicrosToNs(raw_.start_micros);
  }
  if (!raw_.Has(Attribute::kDurationNs)) {
    view.duration_ns = MicrosToNs(raw_.duration_micros);
  }
  if (raw_.Number(Attribute::kCostKnown, 1) == 0) {
    view.num_ops = view.tensor_bytes = -1;
  }
  DecodeKind(view);
  DecodeActor(view);
  DecodeDeps(view);
  DecodeComm(view);
  DecodeDeviceWork(view);
  DecodeStorage(view);
  DecodeArgs(view);
}

// A device node of ours has a correlation, if only -1.
void NodeDecoder::DecodeDeviceWork(NodeView& view) {
  view.device_work.reset();
  if (!raw_.Has(Attribute::kCorrelation)) {
    return;
  }
  DeviceWork& work = view.device_work.emplace();
  ForEachMember(kDeviceFields, [&](const auto& row) { Take(row, work); });
}

void NodeDecoder::DecodeStorage(NodeView& view) {
  view.storage = std::move(raw_.storage);
  raw_.storage.reset();
  if (view.storage) {
    ForEachStorageText(*view.storage, [&](std::string& text) {
      if (!IsValidUtf8(text)) {
        Count("invalid_utf8");
        text = ReplaceInvalidUtf8(text);
      }
    });
  }
}

void NodeDecoder::DecodeKind(NodeView& view) {
  const auto kind = ParseName<OpKind>(raw_.Text(Attribute::kOpKind));
  const auto op_class = ParseName<OpClass>(raw_.Text(Attribute::kOpClass));
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
  } else if (IsStorage(view.type)) {
    view.kind = OpKind::kWork;
    view.op_class = OpClass::kOther;
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
  ForEachMember(kTransferFields, [&](const auto& row) { Take(row, spec); });
  DecodeCommKind(spec);
  DeriveComm(spec);
}

// What other attributes say where one is missing.
void NodeDecoder::DeriveComm(CommSpec& spec) {
  const bool p2p = IsPointToPoint(spec.kind);
  const std::int64_t size = raw_.Number(Attribute::kCommSize, 0);
  spec.bytes_known = spec.kind == CommKind::kBarrier || raw_.Has(Attribute::kCommSize) ||
                     raw_.Has(Attribute::kCommInBytes) || raw_.Has(Attribute::kCommOutBytes);
  if (!spec.bytes_known && !native_) {  // in files of ours, absence says that it is unknown
    Count("missing_comm_size");
  }
  if (!raw_.Has(Attribute::kCommInBytes)) {
    spec.in_bytes = spec.kind == CommKind::kRecv ? 0 : size;
    if (spec.kind != CommKind::kBarrier && spec.bytes_known) {
      // One number for both sides: exact for all_reduce and broadcast, else a guess.
      Count("comm_size_without_sides");
    }
  }
  if (!raw_.Has(Attribute::kCommOutBytes)) {
    spec.out_bytes = spec.kind == CommKind::kSend ? 0 : size;
  }
  if (!raw_.Has(Attribute::kCommPeer) && p2p) {
    spec.peer = ToInt32(
        raw_.Number(spec.kind == CommKind::kSend ? Attribute::kCommDst : Attribute::kCommSrc, -1));
  }
  spec.outside = spec.send_end == SendEnd::kUnreceived || spec.unmatched;
  if (raw_.Has(Attribute::kCommReduceOp) && !ParseReduceOp(raw_.Text(Attribute::kCommReduceOp))) {
    Count("unknown_reduce_op");
  }
  if (!ParseName<GroupCertainty>(raw_.Text(Attribute::kCommCertainty))) {
    spec.certainty =
        raw_.Has(Attribute::kPgName) ? GroupCertainty::kRecorded : GroupCertainty::kUnknown;
  }
  if (!raw_.Has(Attribute::kCommIndex)) {  // foreign: by order in the file
    spec.index = next_index_[fmt::format("{}/{}/{}", spec.group, p2p ? Name(spec.kind) : "",
                                         p2p ? spec.peer : -1)]++;
  }
}

void NodeDecoder::DecodeCommKind(CommSpec& spec) {
  const auto type = static_cast<NodeType>(raw_.type);
  if (type != NodeType::kCommColl) {
    spec.kind = type == NodeType::kCommSend ? CommKind::kSend : CommKind::kRecv;
    return;
  }
  const std::int64_t number = raw_.Number(Attribute::kCommType, -1);
  spec.kind = CommKind::kUnknown;
  if (number >= 0 && number < static_cast<std::int64_t>(kCollectiveTypes.size())) {
    spec.kind = kCollectiveTypes.at(static_cast<std::size_t>(number));
  } else if (raw_.Has(Attribute::kCommType)) {
    Count("unknown_comm_type");
  } else if (!native_) {
    Count("missing_comm_type");
  }
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
