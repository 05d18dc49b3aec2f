#include "converters/pytorch/rank/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Longer ones first where one is part of another.
constexpr std::pair<std::string_view, CommKind> kKinds[] = {
    {"allreduce", CommKind::kAllReduce},         {"allgather", CommKind::kAllGather},
    {"reducescatter", CommKind::kReduceScatter}, {"alltoall", CommKind::kAllToAll},
    {"broadcast", CommKind::kBroadcast},         {"reduce", CommKind::kReduce},
};
constexpr std::pair<std::string_view, DType> kNcclTypes[] = {
    {"float", DType::kFloat32}, {"f32", DType::kFloat32},       {"half", DType::kFloat16},
    {"f16", DType::kFloat16},   {"double", DType::kFloat64},    {"f64", DType::kFloat64},
    {"bf16", DType::kBFloat16}, {"bfloat16", DType::kBFloat16}, {"i8", DType::kInt8},
    {"int8", DType::kInt8},     {"u8", DType::kUInt8},          {"uint8", DType::kUInt8},
    {"i32", DType::kInt32},     {"int32", DType::kInt32},       {"i64", DType::kInt64},
    {"int64", DType::kInt64},
};
constexpr std::pair<std::string_view, ReduceOp> kOps[] = {
    {"sum", ReduceOp::kSum},
    {"prod", ReduceOp::kProd},
    {"min", ReduceOp::kMin},
    {"max", ReduceOp::kMax},
    {"sumpostdiv", ReduceOp::kAvg},
    {"avg", ReduceOp::kAvg},
    {"premulsum", ReduceOp::kPremulSum},
};

class Describer {
 public:
  explicit Describer(RankCapture& rank) : rank_(rank) {}

  TransferRecord Describe(std::int32_t event) {
    const DeviceEvent& kernel = rank_.Event(event);
    const EventLink& link = rank_.EventLinkOf(event);
    const std::int32_t call = link.node >= 0 ? link.node : link.operation;
    const std::vector<std::int32_t> parts = BatchOf(kernel, call);
    TransferRecord out = DescribeCall(kernel, parts.empty() ? call : parts.front(), parts.empty());
    out.device_event = event;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      carried_.push_back(DescribeCall(kernel, parts[i], false));
      carried_.back().carrier = event;
      rank_.diagnostics.Count("batched_transfer");
    }
    return out;
  }

  [[nodiscard]] std::vector<TransferRecord> TakeCarried() { return std::move(carried_); }

 private:
  // Calls that say what they transfer, launched nothing, and came since the thread's last NCCL
  // kernel; none unless the kernel itself says no more than that it is a batch.
  std::vector<std::int32_t> BatchOf(const DeviceEvent& kernel, std::int32_t call) {
    if (call < 0) {
      return {};
    }
    const std::int32_t thread = rank_.Op(call).thread;
    std::int32_t& from = next_call_.try_emplace(thread, 0).first->second;
    const std::int32_t first = std::exchange(from, rank_.Op(call).subtree);
    const bool says = kernel.comm != nullptr && ParseCommKind(kernel.comm->collective);
    if (says || KindOfCall(call) ||
        (!ParseNcclName(*kernel.name).send_recv && rank_.FirstIn(call, "nccl:coalesced") < 0)) {
      return {};
    }
    std::vector<std::int32_t> parts;
    for (std::int32_t i = first; i < call; ++i) {
      const Role role = rank_.RoleOf(i);
      if (rank_.Op(i).thread == thread && role == Role::kCommCall && KindOfCall(i)) {
        parts.push_back(i);
      }
    }
    return parts;
  }

  // What a call, its record_param_comms or its "nccl:" annotation says it is.
  [[nodiscard]] std::optional<CommKind> KindOfCall(std::int32_t call) const {
    for (const std::int32_t i :
         {call, rank_.FirstIn(call, "record_param_comms"), rank_.FirstIn(call, "nccl:")}) {
      if (i < 0) {
        continue;
      }
      std::optional<CommKind> kind;
      if (const HostNode* host = rank_.HostOf(i); host != nullptr && host->comm != nullptr) {
        kind = ParseCommKind(host->comm->collective);
      }
      const std::string_view name = *rank_.Op(i).name;
      kind = kind ? kind : ParseCommKind(name.starts_with("nccl:") ? name.substr(5) : name);
      if (kind) {
        return kind;
      }
    }
    return std::nullopt;
  }

  // `alone`: the call is all that the kernel does; else one part of a batch, and the kernel's name
  // and sizes are the batch's.
  TransferRecord DescribeCall(const DeviceEvent& kernel, std::int32_t call, bool alone) {
    TransferRecord out{.call = call,
                       .thread = call < 0 ? -1 : rank_.Op(call).thread,
                       .start_ns = kernel.start_ns,
                       .end_ns = kernel.end_ns};
    const std::int32_t record = rank_.FirstIn(call, "record_param_comms");
    const HostNode* call_host = rank_.HostOf(call);
    const HostNode* record_host = rank_.HostOf(record);
    if (call_host != nullptr || record_host != nullptr) {
      out.arguments = ReadCommArguments(call_host, record_host, nullptr);
    }
    out.arguments.blocking = false;  // the host continues; a stream waits
    if (alone) {
      SetKind(kernel, call, out.arguments.spec);
    } else {
      out.arguments.spec.kind = *KindOfCall(call);
    }
    const CommAttributes* event = rank_.KinetoCommOf(record);
    SetSizes(*kernel.name, {alone ? kernel.comm.get() : nullptr, event}, record_host,
             out.arguments.spec);
    out.NameGroup(record_host, {kernel.comm.get(), event});
    return out;
  }

  void SetKind(const DeviceEvent& kernel, std::int32_t call, CommSpec& spec) {
    const NcclName name = ParseNcclName(*kernel.name);
    std::optional<CommKind> kind;
    if (kernel.comm != nullptr) {
      kind = ParseCommKind(kernel.comm->collective);
    }
    kind = kind ? kind : KindOfCall(call);
    kind = kind ? kind : name.kind;
    if (!kind) {
      rank_.diagnostics.Count("transfer_kind_unknown",
                              fmt::format("{}: {}", rank_.label, *kernel.name));
    }
    spec.kind = kind.value_or(name.send_recv ? CommKind::kAllToAll : CommKind::kAllReduce);
    if (name.op) {
      spec.op = *name.op;
      spec.op_recorded = true;
    }
    if (spec.dtype == DType::kUnknown) {
      spec.dtype = name.dtype;
    }
  }

  // From the first of `comms` that has them, else from the host's record.
  void SetSizes(const std::string& kernel, std::initializer_list<const CommAttributes*> comms,
                const HostNode* record, CommSpec& spec) {
    const auto set = [&spec](const CommAttributes& comm, DType dtype) {
      const std::int64_t item = std::max<std::int64_t>(1, SizeOf(dtype));
      spec.in_bytes = comm.in_elements * item;
      spec.out_bytes = std::max<std::int64_t>(0, comm.out_elements) * item;
    };
    for (const CommAttributes* comm : comms) {
      if (comm == nullptr || comm->in_elements < 0) {
        continue;
      }
      if (const DType dtype = ParseDType(comm->dtype); dtype != DType::kUnknown) {
        spec.dtype = dtype;
      }
      set(*comm, spec.dtype);
      if (spec.kind == CommKind::kAllToAll || spec.in_splits.empty()) {
        spec.in_splits = comm->in_splits;
        spec.out_splits = comm->out_splits;
      }
      spec.sequence = spec.sequence < 0 ? comm->sequence : spec.sequence;
      spec.peer = IsPointToPoint(spec.kind) ? static_cast<std::int32_t>(comm->peer) : -1;
      break;
    }
    if (spec.in_bytes == 0 && record != nullptr && record->comm != nullptr &&
        record->comm->in_elements > 0) {
      set(*record->comm, ParseDType(record->comm->dtype));
    }
    if (spec.out_bytes == 0 && spec.kind == CommKind::kAllReduce) {
      spec.out_bytes = spec.in_bytes;
    }
    if (spec.in_bytes + spec.out_bytes == 0 && spec.kind != CommKind::kBarrier) {
      rank_.diagnostics.Count("transfer_size_unknown", fmt::format("{}: {}", rank_.label, kernel));
    }
  }

  RankCapture& rank_;
  std::map<std::int32_t, std::int32_t> next_call_;  // by thread: after its last NCCL kernel's call
  std::vector<TransferRecord> carried_;
};

}  // namespace

bool IsNcclKernel(std::string_view name) {
  const std::string lower = Lower(name.substr(0, name.find('(')));
  return (lower.find("nccl") != std::string::npos || lower.find("rccl") != std::string::npos) &&
         lower.find("kernel") != std::string::npos;
}

NcclName ParseNcclName(std::string_view name) {
  NcclName out;
  // The words of "nccldevkernel_allreduce_sum_f32_ring_ll(…)" before its arguments.
  std::string lower = Lower(name.substr(0, name.find('(')));
  std::replace(lower.begin(), lower.end(), ' ', '_');
  const std::vector<std::string_view> words = SplitText(lower, '_');
  bool moves_bytes = false;
  for (const std::string_view word : words) {
    moves_bytes |= word.find("sendrecv") != std::string_view::npos;
    for (const auto& [text, kind] : kKinds) {
      if (!out.kind && word.find(text) != std::string_view::npos) {
        out.kind = kind;
      }
    }
  }
  for (const std::string_view word : words) {
    for (const auto& [text, dtype] : kNcclTypes) {
      out.dtype = word == text ? dtype : out.dtype;
    }
    for (const auto& [text, op] : kOps) {
      if (word == text) {
        out.op = op;
      }
    }
  }
  const bool reduces = out.kind == CommKind::kAllReduce || out.kind == CommKind::kReduce ||
                       out.kind == CommKind::kReduceScatter;
  if (!reduces) {
    out.op.reset();  // the names of all others say "Sum" too
  }
  out.send_recv = moves_bytes;
  if (moves_bytes || !out.kind) {
    out.kind.reset();
    out.dtype = DType::kUnknown;
  }
  return out;
}

std::vector<TransferRecord> FindDeviceTransfers(RankCapture& rank) {
  std::vector<TransferRecord> out;
  std::map<std::int32_t, int> kernels_of_call;
  Describer describer(rank);
  for (std::size_t i = 0; i < rank.kineto.device.events.size(); ++i) {
    const DeviceEvent& event = rank.kineto.device.events[i];
    if (event.kind != DeviceEvent::Kind::kKernel || !IsNcclKernel(*event.name)) {
      continue;
    }
    out.push_back(describer.Describe(static_cast<std::int32_t>(i)));
    TransferRecord& transfer = out.back();
    if (transfer.call >= 0 && ++kernels_of_call[transfer.call] == 2) {
      rank.diagnostics.Count("call_with_several_kernels",
                             fmt::format("{}: {}", rank.label, *event.name));
    }
  }
  for (TransferRecord& carried : describer.TakeCarried()) {
    out.push_back(std::move(carried));
  }
  return out;
}

}  // namespace reprise::pytorch
