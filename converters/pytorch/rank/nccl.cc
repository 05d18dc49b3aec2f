#include "converters/pytorch/rank/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

// Longer ones first where one is part of another.
void ReplaceAll(std::string_view from, std::string_view to, std::string& text) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

constexpr std::pair<std::string_view, CommKind> kKinds[] = {
    {"allreduce", CommKind::kAllReduce},         {"allgather", CommKind::kAllGather},
    {"reducescatter", CommKind::kReduceScatter}, {"alltoall", CommKind::kAllToAll},
    {"broadcast", CommKind::kBroadcast},         {"reduce", CommKind::kReduce},
};
// What other libraries call them ("void vllm::cross_device_reduce_1stage<…>(…)" is vLLM's
// all_reduce), as kKinds does.
constexpr std::pair<std::string_view, std::string_view> kOtherKinds[] = {
    {"all_reduce", "allreduce"},          {"all_gather", "allgather"},
    {"reduce_scatter", "reducescatter"},  {"all_to_all", "alltoall"},
    {"cross_device_reduce", "allreduce"}, {"quickreduce", "allreduce"},
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
    if (says || KindOf(rank_.SourcesOf(call)) ||
        (!ParseNcclName(*kernel.name).send_recv && rank_.FirstIn(call, "nccl:coalesced") < 0)) {
      return {};
    }
    std::vector<std::int32_t> parts;
    for (std::int32_t i = first; i < call; ++i) {
      const Role role = rank_.RoleOf(i);
      if (rank_.Op(i).thread == thread && role == Role::kCommCall && KindOf(rank_.SourcesOf(i))) {
        parts.push_back(i);
      }
    }
    return parts;
  }

  // `alone`: the call is all that the kernel does; else one part of a batch, and the kernel's name
  // and sizes are the batch's.
  TransferRecord DescribeCall(const DeviceEvent& kernel, std::int32_t call, bool alone) {
    TransferRecord out{.call = call,
                       .thread = call < 0 ? -1 : rank_.Op(call).thread,
                       .start_ns = kernel.start_ns,
                       .end_ns = kernel.end_ns};
    CommSources sources = rank_.SourcesOf(call);
    CommAttributes group;  // a batch is of one group
    if (alone) {
      sources.kernel = kernel.comm.get();
      sources.kernel_name = IsNcclKernel(*kernel.name) ? std::string_view(*kernel.name) : "";
    } else if (kernel.comm != nullptr) {
      group.group_name = kernel.comm->group_name;
      group.group_description = kernel.comm->group_description;
      group.ranks = kernel.comm->ranks;
      sources.kernel = &group;
    }
    out.arguments = ReadCommArguments(sources);
    out.arguments.blocking = false;  // the host continues; a stream waits
    CommSpec& spec = out.arguments.spec;
    // A library launches nothing for no bytes.
    if (spec.in_bytes + spec.out_bytes == 0 && spec.kind != CommKind::kBarrier &&
        spec.in_splits.empty() && spec.out_splits.empty()) {
      spec.bytes_known = false;
    }
    return out;
  }

  RankCapture& rank_;
  std::map<std::int32_t, std::int32_t> next_call_;  // by thread: after its last NCCL kernel's call
  std::vector<TransferRecord> carried_;
};

// Whether the kernel is a transfer by what record_param_comms says of it. PyTorch's own kernels
// (copies into one buffer) may be launched inside of it, too.
bool HasCommArguments(const DeviceEvent& event) {
  return event.comm != nullptr && event.name->find("at::native") == std::string::npos;
}

}  // namespace

bool IsNcclKernel(std::string_view name) {
  const std::string lower = LowerCase(name.substr(0, name.find('(')));
  return (lower.find("nccl") != std::string::npos || lower.find("rccl") != std::string::npos) &&
         lower.find("kernel") != std::string::npos;
}

bool IsCommKernel(std::string_view name) {
  if (IsNcclKernel(name)) {
    return true;
  }
  std::string lower = LowerCase(name);
  ReplaceAll("(anonymous namespace)::", "", lower);
  lower.resize(std::min(lower.find_first_of("<("), lower.size()));
  constexpr std::string_view kParts[] = {
      "msccl",  // RCCL's and Microsoft's: "mscclKernel_Sum_…", "mscclpp::…"
      "nvshmem",
      "rocshmem",
      "deep_ep::",      // dispatch and combine of experts' tokens
      "ep::internode",  // … in DeepSeek's own build
      "ep::intranode",
      "cross_device_reduce",  // vLLM, SGLang, AITER
      "quickreduce",
      "one_shot_all_reduce",
      "two_shot_all_reduce",
      "multimem_all_",
      "oneshotallreduce",
      "twoshotallreduce",  // TensorRT-LLM
      "allreduce_fusion",
      "oneccl",
      "hcom_",
      "hccl",  // Ascend
  };
  return std::ranges::any_of(
      kParts, [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

NcclName ParseNcclName(std::string_view name) {
  NcclName out;
  // The words of "nccldevkernel_allreduce_sum_f32_ring_ll(…)" before its arguments.
  std::string lower = LowerCase(name);
  ReplaceAll("(anonymous namespace)::", "", lower);
  lower.resize(std::min(lower.find('('), lower.size()));
  std::replace(lower.begin(), lower.end(), ' ', '_');
  for (const auto& [written, kind] : kOtherKinds) {
    ReplaceAll(written, kind, lower);
  }
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
  const std::vector<DeviceEvent>& events = rank.kineto.device.events;
  // A call whose kernel has a library's name launched the others for it.
  std::set<std::int32_t> named_calls;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (HasCommArguments(events[i]) && IsCommKernel(*events[i].name)) {
      named_calls.insert(rank.EventLinkOf(static_cast<std::int32_t>(i)).node);
    }
  }
  Describer describer(rank);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const DeviceEvent& event = events[i];
    const std::int32_t node = rank.EventLinkOf(static_cast<std::int32_t>(i)).node;
    const bool by_arguments = HasCommArguments(event) && (node < 0 || !named_calls.contains(node));
    if (event.kind != DeviceEvent::Kind::kKernel || !(by_arguments || IsCommKernel(*event.name))) {
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
