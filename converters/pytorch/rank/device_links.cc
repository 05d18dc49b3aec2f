// Which operation launched what ran on the device.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "converters/pytorch/rank/stages.h"

namespace reprise::pytorch {
namespace {

class DeviceLinker {
 public:
  explicit DeviceLinker(RankCapture& rank)
      : rank_(rank), device_(rank.kineto.device), list_(rank.list), links_(rank.links) {}

  void Run() {
    links_.calls.resize(device_.calls.size());
    links_.events.resize(device_.events.size());
    for (std::size_t i = 0; i < list_.threads.size(); ++i) {
      threads_.emplace(list_.threads[i].kineto_id, static_cast<std::int32_t>(i));
    }
    PlaceCalls();
    LinkEvents();
    LinkItems();
    ChooseMain();
  }

 private:
  void PlaceCalls() {
    for (std::size_t i = 0; i < links_.calls.size(); ++i) {
      const RuntimeCall& call = device_.calls[i];
      CallLink& link = links_.calls[i];
      link.thread = ThreadOf(call.thread);
      link.operation = OperationAt(link.thread, call.start_ns);
      link.node = NodeAround(link.operation);
      if (call.correlation >= 0) {
        by_correlation_.emplace(call.correlation, static_cast<std::int32_t>(i));
      }
    }
  }

  std::int32_t ThreadOf(std::int64_t kineto_id) {
    const auto [it, added] =
        threads_.try_emplace(kineto_id, static_cast<std::int32_t>(list_.threads.size()));
    if (added) {
      list_.threads.push_back(
          {.kineto_id = kineto_id, .number = kineto_id, .first = list_.loose, .last = list_.loose});
    }
    return it->second;
  }

  // The innermost operation of the thread that runs at that moment.
  [[nodiscard]] std::int32_t OperationAt(std::int32_t thread, std::int64_t at_ns) const {
    const OperationThread& range = list_.threads[static_cast<std::size_t>(thread)];
    const auto first = list_.operations.begin() + range.first;
    const auto after =
        std::upper_bound(first, list_.operations.begin() + range.last, at_ns,
                         [](std::int64_t time, const Operation& op) { return time < op.start_ns; });
    if (after == first) {
      return -1;
    }
    auto i = static_cast<std::int32_t>(after - list_.operations.begin()) - 1;
    while (i >= 0 && list_.Op(i).end_ns < at_ns) {
      i = list_.Op(i).parent;
    }
    return i;
  }

  [[nodiscard]] std::int32_t NodeAround(std::int32_t i) const {
    for (; i >= 0; i = list_.Op(i).parent) {
      const Role role = rank_.RoleOf(i);
      if (role == Role::kNode || role == Role::kCommCall) {
        return i;
      }
    }
    return -1;
  }

  void LinkEvents() {
    std::unordered_map<std::int64_t, std::int32_t> by_external;
    for (std::int32_t i = 0; i < rank_.OperationCount(); ++i) {
      if (const std::int64_t id = rank_.KinetoEventOf(i).external_id; id >= 0) {
        by_external.emplace(id, i);
      }
    }
    for (std::size_t i = 0; i < links_.events.size(); ++i) {
      const DeviceEvent& event = device_.events[i];
      EventLink& link = links_.events[i];
      const auto call = by_correlation_.find(event.work.correlation);
      if (call != by_correlation_.end()) {
        link.call = call->second;
        CallLink& by = links_.calls[static_cast<std::size_t>(link.call)];
        by.events.push_back(static_cast<std::int32_t>(i));
        link.operation = by.operation;
        link.node = by.node;
        continue;
      }
      if (event.HasNoLaunch()) {
        continue;
      }
      rank_.diagnostics.Count(
          "kernel_without_launch",
          fmt::format("{}: {} correlation {}", rank_.label, *event.name, event.work.correlation));
      if (const auto op = by_external.find(event.external_id); op != by_external.end()) {
        link.operation = op->second;
        link.node = NodeAround(op->second);
      }
    }
  }

  // What a compiler's profile says of waits between streams.
  void LinkItems() {
    std::unordered_map<std::int64_t, std::int32_t> by_item;
    for (std::size_t i = 0; i < device_.events.size(); ++i) {
      const CompiledOperation* const compiled = device_.events[i].compiled.get();
      if (compiled != nullptr && compiled->item >= 0) {
        by_item.emplace(compiled->item, static_cast<std::int32_t>(i));
      }
    }
    for (std::size_t i = 0; i < device_.events.size(); ++i) {
      const CompiledOperation* const compiled = device_.events[i].compiled.get();
      if (compiled == nullptr) {
        continue;
      }
      for (const std::int64_t item : compiled->after) {
        const auto source = by_item.find(item);
        // An event that begins before what it is said to wait for does not.
        if (source != by_item.end() && source->second != static_cast<std::int32_t>(i) &&
            device_.events[static_cast<std::size_t>(source->second)].start_ns <=
                device_.events[i].start_ns) {
          links_.events[i].sources.push_back({.event = source->second, .inferred = false});
        }
      }
    }
  }

  void ChooseMain() {
    std::unordered_map<std::int32_t, std::size_t> longest;  // by node
    const auto length = [&](std::size_t i) {
      const DeviceEvent& event = device_.events[i];
      // Copies and fills of a kernel's workspace are not what the operation is about.
      return std::pair(event.kind == DeviceEvent::Kind::kKernel, event.end_ns - event.start_ns);
    };
    for (std::size_t i = 0; i < links_.events.size(); ++i) {
      if (links_.events[i].node >= 0) {
        const auto [it, first] = longest.try_emplace(links_.events[i].node, i);
        if (!first && length(i) > length(it->second)) {
          it->second = i;
        }
      }
    }
    for (const auto& [node, event] : longest) {
      links_.events[event].main = true;
    }
  }

  RankCapture& rank_;
  const DeviceTrace& device_;
  OperationList& list_;
  DeviceLinks& links_;
  std::map<std::int64_t, std::int32_t> threads_;
  std::unordered_map<std::int64_t, std::int32_t> by_correlation_;
};

}  // namespace

void LinkDevice(RankCapture& rank) { DeviceLinker(rank).Run(); }

}  // namespace reprise::pytorch
