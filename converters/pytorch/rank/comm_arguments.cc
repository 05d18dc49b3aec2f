#include "converters/pytorch/rank/comm_arguments.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "converters/pytorch/rank/nccl.h"
#include "converters/tensors_in.h"

namespace reprise::pytorch {
namespace {

void Flatten(const Value& value, ValueList& out) {
  ForEachTensor(std::span(&value, 1), [&](const TensorDesc& tensor) {
    if (tensor.elements > 0 || tensor.IsDefined()) {
      out.push_back({tensor});
    }
  });
}

std::int64_t Bytes(const ValueList& tensors) {
  std::int64_t bytes = 0;
  for (const Value& value : tensors) {
    const TensorDesc& tensor = *value.AsTensor();
    bytes += tensor.elements * SizeOf(tensor.dtype);
  }
  return bytes;
}

DType TypeOf(const ValueList& tensors) {
  return tensors.empty() ? DType::kUnknown : tensors.front().AsTensor()->dtype;
}

// Elements per tensor where they differ; empty where all are alike (even splits).
std::vector<std::int64_t> UnevenSizes(const ValueList& tensors) {
  std::vector<std::int64_t> sizes;
  for (const Value& value : tensors) {
    sizes.push_back(value.AsTensor()->elements);
  }
  const bool even = std::all_of(sizes.begin(), sizes.end(),
                                [&](std::int64_t size) { return size == sizes.front(); });
  return even ? std::vector<std::int64_t>() : sizes;
}

// The tensor that the splits of a side count rows of; nullptr: not recorded.
const TensorDesc* FirstOf(std::span<const Value> values) {
  const TensorDesc* first = nullptr;
  ForEachTensor(values, [&](const TensorDesc& tensor) {
    first = first == nullptr && tensor.elements > 0 ? &tensor : first;
  });
  return first;
}

enum class Splits : std::uint8_t { kWhole, kPart, kContradict };

// c10d counts rows of dimension 0, CommSpec elements. `elements` are the buffer's; `tensor` has its
// shape, or is nullptr.
Splits RowsToElements(std::int64_t elements, const TensorDesc* tensor,
                      std::vector<std::int64_t>& splits) {
  std::int64_t rows = 0;
  for (const std::int64_t split : splits) {
    if (split < 0 || split > elements || rows > elements - split) {
      return Splits::kContradict;
    }
    rows += split;
  }
  std::int64_t row = 1;
  if (tensor != nullptr && !tensor->shape.empty() && tensor->shape.front() > 0 &&
      tensor->elements == elements) {
    row = elements / tensor->shape.front();
  } else if (rows > 0 && elements % rows == 0) {
    row = elements / rows;
  }
  if (row < 1 || rows > elements / row) {
    row = 1;  // they count elements
  }
  for (std::int64_t& split : splits) {
    split *= row;
  }
  return rows * row == elements ? Splits::kWhole : Splits::kPart;
}

// Named access to a call's arguments.
class Call {
 public:
  explicit Call(const HostNode& node) : node_(node) {}

  [[nodiscard]] const Value* Find(std::string_view parameter) const {
    const int at = ParameterIndex(*node_.op_schema, parameter);
    return at < 0 || static_cast<std::size_t>(at) >= node_.inputs.size()
               ? nullptr
               : &node_.inputs[static_cast<std::size_t>(at)];
  }
  [[nodiscard]] ValueList Tensors(std::initializer_list<std::string_view> parameters) const {
    ValueList out;
    for (const std::string_view parameter : parameters) {
      if (const Value* value = Find(parameter)) {
        Flatten(*value, out);
      }
    }
    return out;
  }
  [[nodiscard]] std::int32_t Number(std::string_view parameter, std::int32_t fallback) const {
    const Value* value = Find(parameter);
    return value == nullptr ? fallback : value->AsNumber<std::int32_t>(fallback);
  }
  [[nodiscard]] std::vector<std::int64_t> Numbers(std::string_view parameter) const {
    std::vector<std::int64_t> out;
    if (const Value* value = Find(parameter); value != nullptr && value->AsList() != nullptr) {
      for (const Value& item : *value->AsList()) {
        out.push_back(item.AsNumber<std::int64_t>(0));
      }
    }
    return out;
  }

 private:
  const HostNode& node_;
};

void ReadCall(const HostNode& node, CommArguments& out) {
  const Call call(node);
  out.sent = call.Tensors({"input_tensors", "input_tensor", "input", "inputs"});
  out.received = call.Tensors({"output_tensors", "output_tensor", "output", "outputs"});
  if (const ValueList both = call.Tensors({"tensors"}); !both.empty()) {
    if (out.spec.kind != CommKind::kRecv) {
      out.sent = both;
    }
    if (out.spec.kind != CommKind::kSend) {
      out.received = both;
    }
  }
  out.group_root = call.Number("root_rank", -1);
  out.group_peer = call.Number("dst", call.Number("src", -1));
  out.spec.tag = call.Number("tag", 0);
  if (const Value* async = call.Find("async_op")) {
    out.blocking = !async->AsNumber<bool>(true);
  }
  out.spec.in_splits = call.Numbers("input_split_sizes");
  out.spec.out_splits = call.Numbers("output_split_sizes");
}

// record_param_comms where no call says more: its inputs begin with the tensors.
void ReadTensors(const HostNode& record, CommArguments& out) {
  if (!record.inputs.empty() && out.spec.kind != CommKind::kRecv) {
    Flatten(record.inputs[0], out.sent);
  }
  if (!record.outputs.empty() && out.spec.kind != CommKind::kSend) {
    Flatten(record.outputs[0], out.received);
  }
  out.blocking = record.comm != nullptr && !record.comm->async;
}

std::int32_t Ratio(std::int64_t whole, std::int64_t part) {
  return part > 0 && whole > 0 && whole % part == 0 ? static_cast<std::int32_t>(whole / part) : -1;
}

// The group's size shows in list lengths, and in the sizes of gathered and scattered buffers.
std::int32_t ImpliedGroupSize(const CommArguments& a) {
  const CommSpec& spec = a.spec;
  switch (spec.kind) {
    case CommKind::kAllToAll:
      if (!spec.in_splits.empty()) {
        return static_cast<std::int32_t>(spec.in_splits.size());
      }
      return a.sent.size() > 1 ? static_cast<std::int32_t>(a.sent.size()) : -1;
    case CommKind::kAllGather:
      return a.spec.out_splits.empty() ? Ratio(spec.out_bytes, spec.in_bytes)
                                       : static_cast<std::int32_t>(a.received.size());
    case CommKind::kReduceScatter:
      return a.spec.in_splits.empty() ? Ratio(spec.in_bytes, spec.out_bytes)
                                      : static_cast<std::int32_t>(a.sent.size());
    case CommKind::kGather:
      return a.received.empty() ? -1 : static_cast<std::int32_t>(a.received.size());
    case CommKind::kScatter:
      return a.sent.empty() ? -1 : static_cast<std::int32_t>(a.sent.size());
    default:
      return -1;
  }
}

void SetTensorSizes(CommArguments& out) {
  CommSpec& spec = out.spec;
  spec.in_bytes = Bytes(out.sent);
  spec.out_bytes = Bytes(out.received);
  spec.dtype = TypeOf(out.sent.empty() ? out.received : out.sent);
  // List forms may hold a tensor of another size for every member.
  if (spec.kind == CommKind::kAllToAll && spec.in_splits.empty() && out.sent.size() > 1) {
    spec.in_splits = UnevenSizes(out.sent);
    spec.out_splits = UnevenSizes(out.received);
    if (spec.in_splits.empty() != spec.out_splits.empty()) {
      // Even on one side only: say both.
      auto& missing = spec.in_splits.empty() ? spec.in_splits : spec.out_splits;
      for (const Value& value : spec.in_splits.empty() ? out.sent : out.received) {
        missing.push_back(value.AsTensor()->elements);
      }
    }
  } else if ((spec.kind == CommKind::kAllGather || spec.kind == CommKind::kGather) &&
             out.sent.size() == 1) {
    spec.out_splits = UnevenSizes(out.received);
  } else if ((spec.kind == CommKind::kReduceScatter || spec.kind == CommKind::kScatter) &&
             out.received.size() == 1) {
    spec.in_splits = UnevenSizes(out.sent);
  }
}

// From numbers of bytes, or of elements; false: they, or the elements' type, are not recorded.
bool SetRecordedSizes(const CommAttributes& said, CommSpec& spec) {
  // More would overflow in sums; no message is near it.
  constexpr std::int64_t kMost = std::int64_t{1} << 46;
  const bool bytes = said.in_bytes || said.out_bytes;
  const std::int64_t item = bytes ? 1 : SizeOf(spec.dtype);
  std::optional<std::int64_t> in = bytes ? said.in_bytes : said.in_elements;
  std::optional<std::int64_t> out = bytes ? said.out_bytes : said.out_elements;
  const auto readable = [](const std::optional<std::int64_t>& elements) {
    return !elements || (*elements >= 0 && *elements < kMost);
  };
  if (item <= 0 || (!in && !out) || !readable(in) || !readable(out)) {
    return false;
  }
  if (!in || !out) {
    const std::int64_t members = said.group_size.value_or(0);
    const bool blocks = IsGathering(spec.kind) || IsScattering(spec.kind);
    if (blocks && (members < 1 || members >= kMost)) {
      return false;
    }
    const bool whole_is_out = IsGathering(spec.kind);
    const auto other = [&](std::int64_t known, bool known_is_in) {
      const bool grows = known_is_in == whole_is_out;
      return !blocks ? known : grows ? std::min(known, kMost / members) * members : known / members;
    };
    in = in ? in : other(*out, false);
    out = out ? out : other(*in, true);
  }
  spec.in_bytes = *in * item;
  spec.out_bytes = *out * item;
  return true;
}

// What the parts of an all_to_all say is what it moves.
void SetSplits(const CommSources& sources, const CommAttributes& said, CommArguments& out) {
  CommSpec& spec = out.spec;
  if (spec.kind == CommKind::kAllToAll && spec.in_splits.empty() && spec.out_splits.empty()) {
    spec.in_splits = said.in_splits;
    spec.out_splits = said.out_splits;
    out.splits_unknown = said.splits_cut && said.in_splits.empty() && said.out_splits.empty();
  }
  const std::int64_t item = SizeOf(spec.dtype);
  if (spec.kind != CommKind::kAllToAll || out.lists || !spec.bytes_known || item <= 0) {
    return;
  }
  const bool record = sources.record != nullptr;
  const auto set = [&](const ValueList& tensors, const ValueList* recorded,
                       std::vector<std::int64_t>& splits, std::int64_t& bytes) {
    if (splits.empty()) {
      return;
    }
    const TensorDesc* tensor = FirstOf(tensors);
    if (tensor == nullptr && recorded != nullptr && !recorded->empty()) {
      tensor = FirstOf(std::span(recorded->data(), 1));
    }
    const Splits found = RowsToElements(bytes / item, tensor, splits);
    if (found == Splits::kContradict) {
      splits.clear();
      out.splits_unknown = true;
      return;
    }
    out.sends_part |= found == Splits::kPart;
    bytes = std::accumulate(splits.begin(), splits.end(), std::int64_t{0}) * item;
  };
  set(out.sent, record ? &sources.record->inputs : nullptr, spec.in_splits, spec.in_bytes);
  set(out.received, record ? &sources.record->outputs : nullptr, spec.out_splits, spec.out_bytes);
}

// Records give both sides the size of the one that there is.
void ClearOtherSide(CommSpec& spec) {
  const std::int64_t bytes = std::max(spec.in_bytes, spec.out_bytes);
  if (spec.kind == CommKind::kSend) {
    spec.in_bytes = bytes;
    spec.out_bytes = 0;
  } else if (spec.kind == CommKind::kRecv) {
    spec.out_bytes = bytes;
    spec.in_bytes = 0;
  }
}

std::int32_t RankIn(const std::optional<std::int64_t>& rank) {
  return rank && *rank >= 0 && *rank <= INT32_MAX ? static_cast<std::int32_t>(*rank) : -1;
}

// Root and peer: what the call's own arguments name, else the rank of the record, which is the
// rank's own for all other kinds.
void SetRanks(const CommAttributes& said, CommArguments& out) {
  const CommKind kind = out.spec.kind;
  if (HasRoot(kind) && out.group_root < 0) {
    out.group_root = RankIn(said.rank);
  }
  if (IsPointToPoint(kind)) {
    out.group_peer = out.group_peer < 0 ? RankIn(said.rank) : out.group_peer;
    out.peer = RankIn(kind == CommKind::kSend ? said.destination : said.source);
  }
}

}  // namespace

int ParameterIndex(std::string_view schema, std::string_view parameter) {
  const std::size_t open = schema.find('(');
  if (open == std::string_view::npos) {
    return -1;
  }
  int depth = 0;
  int index = 0;
  std::size_t begin = open + 1;
  for (std::size_t i = begin; i < schema.size(); ++i) {
    const char c = schema[i];
    const bool last = c == ')' && depth == 0;
    depth += (c == '(' || c == '[') ? 1 : (c == ')' || c == ']') ? -1 : 0;
    if (!last && (c != ',' || depth != 0)) {
      continue;
    }
    // " bool async_op=True" → async_op; a lone "*" only separates.
    std::string_view one = schema.substr(begin, i - begin);
    one = one.substr(0, one.find('='));
    const std::size_t space = one.rfind(' ');
    const std::string_view name = space == std::string_view::npos ? one : one.substr(space + 1);
    if (name == parameter) {
      return index;
    }
    index += name == "*" ? 0 : 1;
    begin = i + 1;
    if (last) {
      break;
    }
  }
  return -1;
}

CommArguments ReadCommArguments(const CommSources& sources) {
  CommArguments out;
  out.said = Combine(sources);
  CommSpec& spec = out.spec;
  spec.kind = KindOf(sources).value_or(CommKind::kUnknown);
  if (sources.call != nullptr && sources.call != sources.record) {
    ReadCall(*sources.call, out);
  } else if (sources.record != nullptr) {
    ReadTensors(*sources.record, out);
  } else if (sources.leaf != nullptr) {
    for (const Value& value : sources.leaf->inputs) {
      Flatten(value, out.sent);
    }
    out.received = out.sent;
  }
  if (spec.kind == CommKind::kBarrier) {
    out.sent.clear();
    out.received.clear();
  }
  const bool tensors = !out.sent.empty() || !out.received.empty();
  SetTensorSizes(out);
  out.lists = out.sent.size() > 1 || out.received.size() > 1;
  // A kernel moves what its own arguments say, whatever the call was given.
  const bool kernel = sources.kernel != nullptr && sources.kernel->in_elements;
  const NcclName name = ParseNcclName(sources.kernel_name);
  if (const DType said = ParseDType(out.said.dtype);
      said != DType::kUnknown && (kernel || spec.dtype == DType::kUnknown)) {
    spec.dtype = said;
  }
  spec.dtype = spec.dtype == DType::kUnknown ? name.dtype : spec.dtype;
  if (name.op) {
    spec.op = *name.op;
    spec.op_recorded = true;
  }
  const bool recorded = (kernel || !tensors) && SetRecordedSizes(out.said, spec);
  spec.bytes_known = recorded || tensors || spec.kind == CommKind::kBarrier;
  if (spec.kind == CommKind::kBarrier) {
    spec.in_bytes = spec.out_bytes = 0;
  }
  if (recorded) {
    ClearOtherSide(spec);
  }
  SetSplits(sources, out.said, out);
  out.group_size = ImpliedGroupSize(out);
  SetRanks(out.said, out);
  spec.sequence = out.said.sequence.value_or(-1);
  spec.async = !out.blocking;
  return out;
}

void SettleSizes(CommArguments& arguments) {
  CommSpec& spec = arguments.spec;
  if (!spec.bytes_known && SetRecordedSizes(arguments.said, spec)) {
    spec.bytes_known = true;
    ClearOtherSide(spec);
    arguments.group_size = ImpliedGroupSize(arguments);
  }
}

void SettleRoot(bool is_root, CommArguments& arguments) {
  const CommKind kind = arguments.spec.kind;
  if (!is_root && (kind == CommKind::kBroadcast || kind == CommKind::kScatter)) {
    arguments.sent.clear();
    arguments.spec.in_bytes = 0;
  } else if (!is_root && (kind == CommKind::kReduce || kind == CommKind::kGather)) {
    arguments.received.clear();
    arguments.spec.out_bytes = 0;
  }
}

}  // namespace reprise::pytorch
