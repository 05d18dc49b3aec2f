#include "converters/pytorch/rank/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <utility>

namespace reprise::pytorch {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// The words of "nccldevkernel_allreduce_sum_f32_ring_ll(…)" before its arguments.
std::vector<std::string> NcclWords(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : Lower(name.substr(0, name.find('(')))) {
    if (c == '_' || c == ' ') {
      words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  words.push_back(std::move(word));
  return words;
}

template <typename T>
struct Spelling {
  std::string_view text;
  T value;
};

// Longer ones first where one is part of another.
constexpr std::array kKinds = {
    Spelling<CommKind>{"allreduce", CommKind::kAllReduce},
    Spelling<CommKind>{"allgather", CommKind::kAllGather},
    Spelling<CommKind>{"reducescatter", CommKind::kReduceScatter},
    Spelling<CommKind>{"alltoall", CommKind::kAllToAll},
    Spelling<CommKind>{"broadcast", CommKind::kBroadcast},
    Spelling<CommKind>{"reduce", CommKind::kReduce},
};
constexpr std::array kNcclTypes = {
    Spelling<DType>{"float", DType::kFloat32},  Spelling<DType>{"f32", DType::kFloat32},
    Spelling<DType>{"half", DType::kFloat16},   Spelling<DType>{"f16", DType::kFloat16},
    Spelling<DType>{"double", DType::kFloat64}, Spelling<DType>{"f64", DType::kFloat64},
    Spelling<DType>{"bf16", DType::kBFloat16},  Spelling<DType>{"bfloat16", DType::kBFloat16},
    Spelling<DType>{"i8", DType::kInt8},        Spelling<DType>{"int8", DType::kInt8},
    Spelling<DType>{"u8", DType::kUInt8},       Spelling<DType>{"uint8", DType::kUInt8},
    Spelling<DType>{"i32", DType::kInt32},      Spelling<DType>{"int32", DType::kInt32},
    Spelling<DType>{"i64", DType::kInt64},      Spelling<DType>{"int64", DType::kInt64},
};
constexpr std::array kOps = {
    Spelling<ReduceOp>{"sum", ReduceOp::kSum},
    Spelling<ReduceOp>{"prod", ReduceOp::kProd},
    Spelling<ReduceOp>{"min", ReduceOp::kMin},
    Spelling<ReduceOp>{"max", ReduceOp::kMax},
    Spelling<ReduceOp>{"sumpostdiv", ReduceOp::kAvg},
    Spelling<ReduceOp>{"avg", ReduceOp::kAvg},
    Spelling<ReduceOp>{"premulsum", ReduceOp::kPremulSum},
};

class Describer {
 public:
  Describer(const RankCapture& rank, Diagnostics& diagnostics)
      : rank_(rank), diagnostics_(diagnostics) {}

  TransferRecord Describe(std::int32_t event) {
    const DeviceEvent& kernel = rank_.Event(event);
    const EventLink& link = rank_.EventLinkOf(event);
    TransferRecord out{.call = link.node >= 0 ? link.node : link.operation,
                       .device_event = event,
                       .start_ns = kernel.start_ns,
                       .end_ns = kernel.end_ns};
    out.thread = out.call < 0 ? -1 : rank_.Op(out.call).thread;
    const std::int32_t record = Find(out.call, "record_param_comms");
    const HostNode* call_host = rank_.HostOf(out.call);
    if (call_host != nullptr || rank_.HostOf(record) != nullptr) {
      out.arguments = ReadCommArguments(call_host, rank_.HostOf(record), nullptr);
    }
    out.arguments.blocking = false;  // the host continues; a stream waits
    if (const std::vector<std::int32_t> parts = BatchOf(kernel, out.call); !parts.empty()) {
      out = DescribePart(parts.front(), kernel);
      out.device_event = event;
      for (std::size_t i = 1; i < parts.size(); ++i) {
        carried_.push_back(DescribePart(parts[i], kernel));
        carried_.back().carrier = event;
        diagnostics_.Count("batched_transfer");
      }
      return out;
    }
    SetKind(kernel, out.call, out.arguments);
    SetSizes(kernel, EventComm(record), rank_.HostOf(record), out);
    NameGroup(rank_.HostOf(record), {kernel.comm.get(), EventComm(record)}, out);
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
    if (says || (!ParseNcclName(*kernel.name).send_recv && Find(call, "nccl:coalesced") < 0) ||
        KindOfCall(call)) {
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
    for (const std::int32_t i : {call, Find(call, "record_param_comms"), Find(call, "nccl:")}) {
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

  TransferRecord DescribePart(std::int32_t call, const DeviceEvent& kernel) {
    TransferRecord out{.call = call,
                       .thread = rank_.Op(call).thread,
                       .start_ns = kernel.start_ns,
                       .end_ns = kernel.end_ns};
    const std::int32_t record = Find(call, "record_param_comms");
    if (rank_.HostOf(call) != nullptr || rank_.HostOf(record) != nullptr) {
      out.arguments = ReadCommArguments(rank_.HostOf(call), rank_.HostOf(record), nullptr);
    }
    out.arguments.blocking = false;
    out.arguments.spec.kind = KindOfCall(call).value_or(out.arguments.spec.kind);
    DeviceEvent of_part;  // the kernel's own arguments are the whole batch's
    of_part.name = kernel.name;
    SetSizes(of_part, EventComm(record), rank_.HostOf(record), out);
    NameGroup(rank_.HostOf(record), {kernel.comm.get(), EventComm(record)}, out);
    return out;
  }

  [[nodiscard]] const KinetoComm* EventComm(std::int32_t operation) const {
    return operation < 0 ? nullptr
                         : rank_.kineto.events[static_cast<std::size_t>(rank_.Op(operation).event)]
                               .comm.get();
  }
  // The first operation in `call` whose name begins so.
  [[nodiscard]] std::int32_t Find(std::int32_t call, std::string_view name) const {
    for (std::int32_t i = call; i >= 0 && i < rank_.Op(call).subtree; ++i) {
      if (rank_.Op(i).name->starts_with(name)) {
        return i;
      }
    }
    return -1;
  }

  void SetKind(const DeviceEvent& kernel, std::int32_t call, CommArguments& arguments) {
    CommSpec& spec = arguments.spec;
    const NcclName name = ParseNcclName(*kernel.name);
    std::optional<CommKind> kind;
    if (kernel.comm != nullptr) {
      kind = ParseCommKind(kernel.comm->collective);
    }
    kind = kind ? kind : KindOfCall(call);
    kind = kind ? kind : name.kind;
    if (!kind) {
      diagnostics_.Count("transfer_kind_unknown", fmt::format("{}: {}", rank_.label, *kernel.name));
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

  void SetSizes(const DeviceEvent& kernel, const KinetoComm* event, const HostNode* record,
                TransferRecord& out) {
    CommSpec& spec = out.arguments.spec;
    for (const KinetoComm* comm : {static_cast<const KinetoComm*>(kernel.comm.get()), event}) {
      if (comm == nullptr || comm->in_elements < 0) {
        continue;
      }
      if (const DType dtype = ParseDType(comm->dtype); dtype != DType::kUnknown) {
        spec.dtype = dtype;
      }
      const std::int64_t item = std::max<std::int64_t>(1, SizeOf(spec.dtype));
      spec.in_bytes = comm->in_elements * item;
      spec.out_bytes = std::max<std::int64_t>(0, comm->out_elements) * item;
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
      const std::int64_t item = std::max<std::int64_t>(1, SizeOf(ParseDType(record->comm->dtype)));
      spec.in_bytes = record->comm->in_elements * item;
      spec.out_bytes = std::max<std::int64_t>(0, record->comm->out_elements) * item;
    }
    if (spec.out_bytes == 0 && spec.kind == CommKind::kAllReduce) {
      spec.out_bytes = spec.in_bytes;
    }
    if (spec.in_bytes + spec.out_bytes == 0 && spec.kind != CommKind::kBarrier) {
      diagnostics_.Count("transfer_size_unknown", fmt::format("{}: {}", rank_.label, *kernel.name));
    }
  }

  const RankCapture& rank_;
  Diagnostics& diagnostics_;
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
  const std::vector<std::string> words = NcclWords(name);
  bool moves_bytes = false;
  for (const std::string& word : words) {
    moves_bytes |= word.find("sendrecv") != std::string::npos;
    for (const auto& [text, kind] : kKinds) {
      if (!out.kind && word.find(text) != std::string::npos) {
        out.kind = kind;
      }
    }
  }
  for (const std::string& word : words) {
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

std::vector<TransferRecord> FindDeviceTransfers(const RankCapture& rank, Diagnostics& diagnostics) {
  std::vector<TransferRecord> out;
  std::map<std::int32_t, int> kernels_of_call;
  Describer describer(rank, diagnostics);
  for (std::size_t i = 0; i < rank.kineto.device.events.size(); ++i) {
    const DeviceEvent& event = rank.kineto.device.events[i];
    if (event.kind != DeviceEvent::Kind::kKernel || !IsNcclKernel(*event.name)) {
      continue;
    }
    out.push_back(describer.Describe(static_cast<std::int32_t>(i)));
    TransferRecord& transfer = out.back();
    if (transfer.call >= 0 && ++kernels_of_call[transfer.call] == 2) {
      diagnostics.Count("call_with_several_kernels",
                        fmt::format("{}: {}", rank.label, *event.name));
    }
  }
  for (TransferRecord& carried : describer.TakeCarried()) {
    out.push_back(std::move(carried));
  }
  return out;
}

}  // namespace reprise::pytorch
