#include "converters/pytorch/rocprof/json_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

constexpr std::string_view kEntriesKey = "rocprofiler-sdk-tool";

void ReadAgent(element root, EntryNames& names) {
  constexpr std::int64_t kGpuType = 2;  // rocprofiler_agent_type_t
  const auto handle = HandleIn(root["id"]);
  if (!handle) {
    return;
  }
  EntryNames::Agent& agent = names.agents[*handle];
  agent.is_gpu = WholeIn(root["type"]) == kGpuType;
  agent.number = WholeIn(root["logical_node_type_id"]).value_or(0);
  const std::string_view product = TextOr(root["product_name"]);
  agent.name = product.empty() ? TextOr(root["name"]) : product;
}

void ReadDomain(element root, EntryNames& names) {
  EntryNames::Domain& domain = names.domains.emplace_back();
  domain.name = TextOr(root["kind"]);
  simdjson::dom::array operations;
  if (root["operations"].get(operations) == simdjson::SUCCESS) {
    for (const element operation : operations) {
      domain.operations.emplace_back(TextOr(JsonMember(element(operation))));
    }
  }
}

void ReadKernel(element root, EntryNames& names) {
  const auto id = WholeIn(root["kernel_id"]);
  if (!id) {
    return;
  }
  EntryNames::Kernel& kernel = names.kernels[*id];
  const std::string_view formatted = TextOr(root["formatted_kernel_name"]);
  kernel.name = formatted.empty() ? TextOr(root["kernel_name"]) : formatted;
  kernel.registers = WholeIn(root["arch_vgpr_count"]);
}

void ReadMessage(element root, EntryNames& names) {
  if (const auto key = WholeIn(root["key"])) {
    names.messages.insert_or_assign(*key, &*names.texts.emplace(TextOr(root["value"])).first);
  }
}

Status ReadDomains(JsonWalk& walk, ValueReader& values, EntryNames& names) {
  return values.ForEachMember([&](std::string_view name) -> Status {
    return name == "buffer_records" ? values.ForEach([&](element root) { ReadDomain(root, names); })
                                    : walk.Skip();
  });
}

Status ReadStrings(JsonWalk& walk, ValueReader& values, EntryNames& names) {
  return values.ForEachMember([&](std::string_view name) -> Status {
    if (name == "buffer_records") {
      names.domains.clear();
      return values.ForEach([&](element root) { ReadDomain(root, names); });
    }
    if (name == "marker_api") {
      return values.ForEach([&](element root) { ReadMessage(root, names); });
    }
    return walk.Skip();
  });
}

void ReadMetadata(element root, RocprofProcess& process) {
  process.number = WholeIn(root["pid"]).value_or(-1);
  process.host = TextOr(root["node"]["hostname"]);
  element environment;
  if (root["environment"].get(environment) == simdjson::SUCCESS) {
    SetRank(simdjson::minify(environment), process);
  }
}

// Of the whole entry, what it says of its process.
class EntryDescription {
 public:
  EntryDescription(JsonWalk& walk, const std::string& path, RocprofProcess& process)
      : walk_(walk), values_(walk, path), process_(process) {}

  Status Read() {
    return values_.ForEachMember([this](std::string_view name) -> Status {
      if (name == "metadata") {
        REPRISE_ASSIGN(const element root, values_.Parse());
        ReadMetadata(root, process_);
        return {};
      }
      if (name == "agents") {
        return values_.ForEach([this](element root) { ReadAgent(root, names_); });
      }
      if (name == "strings") {
        return ReadDomains(walk_, values_, names_);
      }
      return name == "buffer_records"
                 ? values_.ForEachMember([this](std::string_view list) { return ReadList(list); })
                 : walk_.Skip();
    });
  }

  // How many kernels it dispatched.
  std::uint64_t Settle() {
    for (const auto& [handle, agent] : names_.agents) {
      if (agent.is_gpu) {
        process_.gpus.push_back({.number = agent.number, .name = agent.name});
      }
      if (handle == first_agent_) {
        process_.device = agent.number;
      }
    }
    std::ranges::sort(process_.gpus, {}, &RocprofGpu::number);
    const bool splits = std::ranges::any_of(transfer_calls_, [this](const auto& call) {
      return names_.OperationOf(call.first, call.second).starts_with("ncclCommSplit");
    });
    process_.rccl_members = communicators_ == 1 && !splits ? members_ : 0;
    return kernels_;
  }

 private:
  Status ReadList(std::string_view list) {
    const bool dispatches = list == "kernel_dispatch";
    const bool calls = list == "hip_api";
    const bool transfers = list == "rccl_api";
    REPRISE_ASSIGN(const char c, walk_.Peek());
    if (c != '[' || (!dispatches && !calls && !transfers)) {
      return walk_.Skip();
    }
    if (transfers) {
      return values_.ForEach([this](element root) { SeeTransfer(root); });
    }
    REPRISE_TRY(walk_.Enter());
    for (;;) {
      REPRISE_ASSIGN(const bool more, walk_.NextElement());
      if (!more) {
        return {};
      }
      process_.has_hip_calls = process_.has_hip_calls || calls;
      kernels_ += dispatches ? 1 : 0;
      if (dispatches && kernels_ == 1) {
        REPRISE_ASSIGN(const element root, values_.Parse());
        first_agent_ = HandleIn(root["dispatch_info"]["agent_id"]);
      } else {
        REPRISE_TRY(walk_.Skip());
      }
    }
  }

  void SeeTransfer(element root) {
    constexpr std::size_t kMostCalls = 1024;  // RCCL has some 40
    if (transfer_calls_.size() < kMostCalls) {
      transfer_calls_.emplace(GetOr(root["kind"], UINT64_MAX),
                              GetOr(root["operation"], UINT64_MAX));
    }
    simdjson::dom::array arguments;
    if (root["args"].get(arguments) != simdjson::SUCCESS) {
      return;
    }
    for (const element argument : arguments) {
      if (TextOr(argument["name"]) == "nranks") {
        ++communicators_;
        members_ = ParseNumber<std::int64_t>(TextOr(argument["value"])).value_or(0);
      }
    }
  }

  JsonWalk& walk_;
  ValueReader values_;
  RocprofProcess& process_;
  EntryNames names_;
  std::optional<std::int64_t> first_agent_;
  std::uint64_t kernels_ = 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>> transfer_calls_;  // kind, operation
  std::int64_t communicators_ = 0, members_ = 0;
};

}  // namespace

std::optional<std::int64_t> WholeIn(const JsonMember& value) {
  std::int64_t out = 0;
  return value.get(out) == simdjson::SUCCESS ? std::optional(out) : std::nullopt;
}

std::optional<std::int64_t> HandleIn(const JsonMember& value) {
  std::uint64_t out = 0;
  return value["handle"].get(out) == simdjson::SUCCESS
             ? std::optional(static_cast<std::int64_t>(out))
             : std::nullopt;
}

std::int64_t EntryNames::DeviceOf(std::optional<std::int64_t> agent) const {
  const auto found = agent ? agents.find(*agent) : agents.end();
  return found == agents.end() ? 0 : found->second.number;
}

std::optional<bool> EntryNames::IsGpu(std::optional<std::int64_t> agent) const {
  const auto found = agent ? agents.find(*agent) : agents.end();
  return found == agents.end() ? std::nullopt : std::optional(found->second.is_gpu);
}

const EntryNames::Domain* EntryNames::DomainOf(std::uint64_t kind) const {
  return kind < domains.size() ? &domains[kind] : nullptr;
}

std::string_view EntryNames::OperationOf(std::uint64_t kind, std::uint64_t operation) const {
  const Domain* const domain = DomainOf(kind);
  return domain != nullptr && operation < domain->operations.size() ? domain->operations[operation]
                                                                    : std::string_view();
}

Result<bool> GoToEntries(JsonWalk& walk) {
  REPRISE_TRY(walk.Enter());
  std::string name;
  for (;;) {
    REPRISE_ASSIGN(const bool more, walk.NextMember(name));
    if (!more) {
      return false;
    }
    REPRISE_ASSIGN(const char c, walk.Peek());
    if (name == kEntriesKey && c == '[') {
      REPRISE_TRY(walk.Enter());
      return true;
    }
    REPRISE_TRY(walk.Skip());
  }
}

Status GoToEntry(JsonWalk& walk, std::int64_t index, const std::string& path) {
  REPRISE_ASSIGN(bool more, GoToEntries(walk));
  for (std::int64_t i = 0; more; ++i) {
    REPRISE_ASSIGN(more, walk.NextElement());
    if (more && i == index) {
      return {};
    }
    if (more) {
      REPRISE_TRY(walk.Skip());
    }
  }
  return BadInput(fmt::format("{}: changed while it was read", path));
}

Status ReadEntryNames(JsonWalk& walk, const std::string& path, EntryNames& names) {
  REPRISE_TRY(walk.Enter());
  ValueReader values(walk, path);
  std::string name;
  for (int left = 3; left > 0;) {
    REPRISE_ASSIGN(const bool more, walk.NextMember(name));
    if (!more) {
      return {};
    }
    const bool agents = name == "agents";
    const bool strings = name == "strings";
    const bool kernels = name == "kernel_symbols";
    REPRISE_TRY(agents    ? values.ForEach([&](element root) { ReadAgent(root, names); })
                : strings ? ReadStrings(walk, values, names)
                : kernels ? values.ForEach([&](element root) { ReadKernel(root, names); })
                          : walk.Skip());
    left -= agents || strings || kernels ? 1 : 0;
  }
  return {};
}

Result<std::uint64_t> DescribeEntry(JsonWalk& walk, const std::string& path,
                                    RocprofProcess& process) {
  EntryDescription entry(walk, path, process);
  REPRISE_TRY(entry.Read());
  return entry.Settle();
}

}  // namespace reprise::pytorch
