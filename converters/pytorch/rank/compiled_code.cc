#include "converters/pytorch/rank/compiled_code.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "converters/pytorch/rank/graph_recordings.h"

namespace reprise::pytorch {
namespace {

// "graph_3_": before the names of a graph's kernels and of its wrapper.
std::string_view WithoutGraphNumber(std::string_view name) {
  constexpr std::string_view kPrefix = "graph_";
  if (!name.starts_with(kPrefix)) {
    return name;
  }
  const std::size_t end = name.find_first_not_of("0123456789", kPrefix.size());
  return end != std::string_view::npos && end > kPrefix.size() && name[end] == '_'
             ? name.substr(end + 1)
             : name;
}

// Whether each operation calls something that launches device work, itself or by what it calls.
std::vector<bool> FindLaunching(const RankCapture& rank) {
  std::vector<bool> launching(rank.list.operations.size());
  const auto mark = [&](std::int32_t operation) {
    for (std::int32_t at = operation; at >= 0 && !launching[static_cast<std::size_t>(at)];
         at = rank.Op(at).parent) {
      launching[static_cast<std::size_t>(at)] = true;
    }
  };
  for (const CallLink& link : rank.links.calls) {
    if (!link.events.empty()) {
      mark(link.operation);
    }
  }
  for (const std::int32_t operation : RecordedOperations(rank)) {
    mark(operation);
  }
  return launching;
}

}  // namespace

CompiledName CompiledNameOf(std::string_view name) {
  constexpr std::string_view kRegionPrefix = "Torch-Compiled Region";  // ": 0/0", ": !0/2/0"
  constexpr std::array<std::string_view, 2> kRegions = {"CompiledFunction",
                                                        "CompiledFunctionBackward"};
  constexpr std::array<std::string_view, 5> kCodePrefixes = {
      "## Call CompiledFxGraph ",
      "inductor_wrapper_call",  // profiler_mark_wrapper_call
      "cpp_fused_",             // enable_kernel_profile
      "triton_",                // of Triton's backend for CPUs
      "aoti_torch_",            // the C++ wrapper's calls of library functions
  };
  if (name.starts_with(kRegionPrefix) || std::ranges::find(kRegions, name) != kRegions.end()) {
    return CompiledName::kRegion;
  }
  const std::string_view code = WithoutGraphNumber(name);
  return std::ranges::any_of(kCodePrefixes,
                             [code](std::string_view prefix) { return code.starts_with(prefix); })
             ? CompiledName::kCode
             : CompiledName::kNone;
}

std::vector<std::int32_t> FindCompiledCode(const RankCapture& rank) {
  std::unordered_map<const std::string*, CompiledName> names;  // they repeat
  std::vector<std::int32_t> code, regions;
  for (std::int32_t i = 0; i < rank.list.loose; ++i) {
    if (rank.RoleOf(i) != Role::kFrame) {
      continue;
    }
    const auto [it, added] = names.try_emplace(rank.Op(i).name);
    if (added) {
      it->second = CompiledNameOf(*it->first);
    }
    if (it->second != CompiledName::kNone) {
      (it->second == CompiledName::kCode ? code : regions).push_back(i);
    }
  }
  std::vector<std::int32_t>& found = code.empty() ? regions : code;
  if (!found.empty()) {
    const std::vector<bool> launching = FindLaunching(rank);
    std::erase_if(found, [&](std::int32_t i) { return launching[static_cast<std::size_t>(i)]; });
  }
  return std::move(found);
}

}  // namespace reprise::pytorch
