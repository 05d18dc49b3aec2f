#include "converters/pytorch/xla/operation_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

// The halves of what sends and receives at once run on streams of their own.
constexpr std::int64_t kSecondStreams = 1'000'000;

// "mul.kd", "mul [clone .kd]" → "mul": ROCm names the kernel's descriptor.
std::string_view KernelName(std::string_view name) {
  for (const std::string_view ending : {" [clone .kd]", ".kd"}) {
    if (name.ends_with(ending)) {
      return name.substr(0, name.size() - ending.size());
    }
  }
  return name;
}

bool HasPart(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// In Kineto's words. "MemcpyH2D", "CopyHostToDevice"; "kind_src:pinned kind_dst:device".
std::string_view KinetoCopyName(std::string_view name, std::string_view details) {
  const bool host_source =
      DetailOf(details, "kind_src") == "pageable" || DetailOf(details, "kind_src") == "pinned";
  const bool host_target =
      DetailOf(details, "kind_dst") == "pageable" || DetailOf(details, "kind_dst") == "pinned";
  if (HasPart(name, "H2D") || HasPart(name, "HtoD") || HasPart(name, "HostToDevice") ||
      (host_source && !host_target)) {
    return "Memcpy HtoD";
  }
  if (HasPart(name, "D2H") || HasPart(name, "DtoH") || HasPart(name, "DeviceToHost") ||
      (host_target && !host_source)) {
    return "Memcpy DtoH";
  }
  if (HasPart(name, "P2P") || HasPart(name, "PtoP")) {
    return "Memcpy PtoP";
  }
  return HasPart(name, "D2D") || HasPart(name, "DtoD") || HasPart(name, "DeviceToDevice")
             ? "Memcpy DtoD"
             : "Memcpy";
}

// NCCL's and RCCL's, NVSHMEM's, and XLA's own, of which an operation may have others beside.
bool IsTransferKernel(std::string_view name) {
  const std::string lower = LowerCase(name);
  return HasPart(lower, "nccl") || HasPart(lower, "nvshmem") || HasPart(lower, "allreduce") ||
         HasPart(lower, "all_reduce") || HasPart(lower, "raggedalltoall");
}

std::optional<std::array<std::int64_t, 3>> SizesIn(std::string_view text) {
  std::array<std::int64_t, 3> out{};
  const std::vector<std::string_view> parts = SplitText(text, ',');
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto size = i < parts.size() ? ParseNumber<std::int64_t>(parts[i]) : std::nullopt;
    if (!size || *size < 1 || *size > INT32_MAX) {
      return std::nullopt;
    }
    out.at(i) = *size;
  }
  return out;
}

}  // namespace

void OperationEvents::Begin(std::string_view category, std::string_view name,
                            const OperationPlace& place) {
  events_.Begin("X");
  events_.AddText("cat", category);
  events_.AddText("name", name);
  events_.AddTime(place.start_ns);
  events_.AddDuration(place.end_ns - place.start_ns);
  events_.AddRow(device_.ordinal, place.stream);
}

// Where it ran, what launched it, and what it waited for; ends the event.
void OperationEvents::AddWhere(const OperationFacts& facts, const OperationPlace& place) {
  args_.Add("device", device_.ordinal);
  args_.Add("stream", place.stream);
  if (facts.correlation > 0) {
    args_.Add("correlation", facts.correlation);
  }
  // Of all work of XLA, so that it is known as that.
  args_.Add("hlo_op", facts.hlo_op);
  if (const std::string_view path = PathOf(profile_, facts); !path.empty()) {
    args_.Add("hlo_path", path);
  }
  if (place.item >= 0) {
    args_.Add("item", place.item);
  }
  if (!place.after.empty()) {
    args_.Add("after", fmt::format("[{}]", fmt::join(place.after, ", ")));
  }
  events_.AddArguments(args_.Take());
  events_.End();
}

void OperationEvents::AddKernelDetails(const OperationFacts& facts) {
  const std::string_view details = facts.kernel_details;
  const auto grid = SizesIn(DetailOf(details, "grid"));
  const auto block = SizesIn(DetailOf(details, "block"));
  if (grid && block) {
    args_.Add("grid", *grid);
    args_.Add("block", *block);
  }
  const auto number = [details](std::string_view name) {
    return ParseNumber<std::int64_t>(DetailOf(details, name));
  };
  constexpr std::int64_t kMostRegisters = 1'024;  // ROCm's old profiler wrote addresses here
  if (const auto registers = number("regs");
      registers && *registers > 0 && *registers <= kMostRegisters) {
    args_.Add("registers per thread", *registers);
    const std::int64_t shared =
        number("static_shared").value_or(0) + number("dynamic_shared").value_or(0);
    args_.Add("shared memory", shared);
  } else if (const auto group = number("group_mem")) {
    args_.Add("shared memory", *group);
  }
}

void OperationEvents::AddOperation(const OperationFacts& facts, const OperationPlace& place,
                                   OpClass op_class) {
  Begin("kernel", KernelName(facts.name.empty() ? facts.Operation() : facts.name), place);
  AddKernelDetails(facts);
  if (op_class != OpClass::kOther) {
    args_.Add("hlo_class", Name(op_class));
  }
  if (facts.Flops() >= 0) {
    args_.Add("flops", facts.Flops());
  }
  if (facts.Bytes() >= 0) {
    args_.Add("bytes accessed", facts.Bytes());
  }
  AddWhere(facts, place);
}

void OperationEvents::AddCopy(const OperationFacts& facts, const OperationPlace& place) {
  const bool fills = !facts.memset_details.empty();
  const std::string_view details = fills ? facts.memset_details : facts.memcpy_details;
  Begin(fills ? "gpu_memset" : "gpu_memcpy",
        fills ? "Memset (Device)" : KinetoCopyName(facts.name, details), place);
  for (const std::string_view name : {"size", "num_bytes"}) {
    if (const auto bytes = ParseNumber<std::int64_t>(DetailOf(details, name));
        bytes && *bytes > 0) {
      args_.Add("bytes", *bytes);
      break;
    }
  }
  AddWhere(facts, place);
}

void OperationEvents::AddTransfer(const OperationFacts& facts, const OperationPlace& place,
                                  const RankTransfer& transfer) {
  Begin("kernel", KernelName(facts.name.empty() ? facts.Operation() : facts.name), place);
  AddKernelDetails(facts);
  args_.Add("Collective name", KinetoName(transfer.kind));
  if (transfer.dtype != DType::kUnknown) {
    args_.Add("dtype", Name(transfer.dtype));
  }
  if (transfer.bytes.in >= 0 && transfer.bytes.out >= 0) {
    args_.Add("In msg bytes", transfer.bytes.in);
    args_.Add("Out msg bytes", transfer.bytes.out);
  }
  if (!transfer.ranks.empty()) {
    args_.Add("Process Group Name", fmt::format("{}", fmt::join(transfer.ranks, ",")));
    args_.Add("Process Group Ranks", fmt::format("[{}]", fmt::join(transfer.ranks, ", ")));
    args_.Add("Group size", std::ssize(transfer.ranks));
  } else if (transfer.members > 0) {  // without a size, by which it could be taken for another
    args_.Add("Process Group Name", fmt::format("{} devices", transfer.members));
  }
  if (transfer.peer >= 0) {
    args_.Add(transfer.kind == HloTransfer::kRecv ? "Src Rank" : "Dst Rank", transfer.peer);
  }
  AddWhere(facts, place);
}

std::int64_t OperationEvents::Add(const OperationFacts& facts, const OperationPlace& place,
                                  bool moves) {
  if (!facts.memcpy_details.empty() || !facts.memset_details.empty()) {
    AddCopy(facts, place);
    return -1;
  }
  if (!moves) {
    AddOperation(facts, place, OpClass::kMetadata);
    return -1;
  }
  // On GPUs a transfer's own kernels, as of a local reduction, are work.
  const bool may_move =
      device_.on_host || facts.kernel_details.empty() || IsTransferKernel(facts.name);
  const KnownTransfer* const known = may_move ? &transfers_.Of(facts) : nullptr;
  if (known == nullptr || known->parts.empty()) {
    AddOperation(facts, place, ClassOf(profile_, facts));
    return -1;
  }
  if (known->assumes_order) {
    ++counts_["xla_device_order"];
  }
  if (known->has_others) {
    ++counts_["xla_member_elsewhere"];
  }
  AddTransfer(facts, place, known->parts.front());
  if (known->parts.size() == 1) {
    return -1;
  }
  OperationPlace second = place;
  second.stream += kSecondStreams;
  second.item = NextItem();
  AddTransfer(facts, second, known->parts.back());
  return second.item;
}

}  // namespace reprise::pytorch
