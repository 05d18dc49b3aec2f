#include "converters/pytorch/rank/comm_arguments.h"

#include <algorithm>
#include <optional>
#include <span>

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

// c10d counts rows of dimension 0, CommSpec elements.
void RowsToElements(std::vector<std::int64_t>& splits, const ValueList& tensors) {
  std::int64_t rows = 0;
  for (const std::int64_t split : splits) {
    rows += split;
  }
  if (rows <= 0 || tensors.empty()) {
    return;
  }
  const std::int64_t row = tensors.front().AsTensor()->elements / rows;
  for (std::int64_t& split : splits) {
    split *= row;
  }
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
  RowsToElements(out.spec.in_splits, out.sent);
  RowsToElements(out.spec.out_splits, out.received);
}

// record_param_comms: inputs are tensors, [sequence, is p2p], [group name, description], rank, …
void ReadRecord(const HostNode& record, bool alone, CommArguments& out) {
  if (record.inputs.size() > 1) {
    if (const ValueList* sequence = record.inputs[1].AsList();
        sequence != nullptr && !sequence->empty()) {
      out.spec.sequence = (*sequence)[0].AsNumber<std::int64_t>(-1);
    }
  }
  if (!alone || record.comm == nullptr) {
    return;
  }
  const CommAttributes& comm = *record.comm;
  if (!record.inputs.empty() && out.spec.kind != CommKind::kRecv) {
    Flatten(record.inputs[0], out.sent);
  }
  if (!record.outputs.empty() && out.spec.kind != CommKind::kSend) {
    Flatten(record.outputs[0], out.received);
  }
  if (record.inputs.size() > 3) {
    const auto rank = record.inputs[3].AsNumber<std::int32_t>(-1);
    (IsPointToPoint(out.spec.kind) ? out.group_peer : out.group_root) = rank;
  }
  out.blocking = !comm.async;
  out.spec.in_splits = comm.in_splits;
  out.spec.out_splits = comm.out_splits;
  RowsToElements(out.spec.in_splits, out.sent);
  RowsToElements(out.spec.out_splits, out.received);
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

void SetSizes(CommArguments& out) {
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
  out.group_size = ImpliedGroupSize(out);
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

CommArguments ReadCommArguments(const HostNode* call, const HostNode* record,
                                const HostNode* transfer) {
  CommArguments out;
  std::optional<CommKind> kind;
  for (const HostNode* node : {call, record, transfer}) {
    if (node != nullptr && !kind) {
      kind = ParseCommKind(node->comm != nullptr ? std::string_view(node->comm->collective)
                                                 : std::string_view(*node->name));
    }
  }
  out.spec.kind = kind.value_or(CommKind::kAllReduce);
  if (call != nullptr && call != record) {
    ReadCall(*call, out);
  }
  if (record != nullptr) {
    ReadRecord(*record, call == nullptr || call == record, out);
  }
  if (call == nullptr && record == nullptr && transfer != nullptr) {
    for (const Value& value : transfer->inputs) {
      Flatten(value, out.sent);
    }
    out.received = out.sent;
  }
  if (out.spec.kind == CommKind::kBarrier) {
    out.sent.clear();
    out.received.clear();
  }
  SetSizes(out);
  out.spec.async = !out.blocking;
  return out;
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
