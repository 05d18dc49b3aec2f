#include "converters/pytorch/host_alone.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reprise::pytorch {
namespace {

class Clock {
 public:
  Clock(HostTrace& host, KinetoTrace& kineto) : host_(host), kineto_(kineto) {
    by_id_.reserve(host.nodes.size());
    for (std::size_t i = 0; i < host.nodes.size(); ++i) {
      by_id_.emplace(host.nodes[i].id, i);
    }
    children_.resize(host.nodes.size());
    kineto.events.reserve(host.nodes.size());
  }

  void Run() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < host_.nodes.size(); ++i) {
      // Not an operation: "[pytorch|profiler|execution_trace|process]".
      if (!host_.nodes[i].name->starts_with("[pytorch|")) {
        order.push_back(i);
      }
    }
    const bool has_ids = std::any_of(order.begin(), order.end(),
                                     [&](std::size_t i) { return host_.nodes[i].rf_id > 0; });
    const auto created = [&](std::size_t i) {
      const HostNode& node = host_.nodes[i];
      return has_ids ? std::pair(node.rf_id, node.id)
                     : std::pair(static_cast<std::int64_t>(0), node.id);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return created(a) < created(b); });
    std::int64_t number = 0;
    for (const std::size_t i : order) {
      host_.nodes[i].rf_id = ++number;
    }
    std::vector<std::size_t> roots;
    for (const std::size_t i : order) {
      const auto caller = by_id_.find(host_.nodes[i].caller);
      // Created before what it calls and on the same thread, or it is no caller.
      const bool nested = caller != by_id_.end() && caller->second != i &&
                          host_.nodes[caller->second].rf_id > 0 &&
                          host_.nodes[caller->second].rf_id < host_.nodes[i].rf_id &&
                          host_.nodes[caller->second].thread == host_.nodes[i].thread;
      if (nested) {
        AddChild(caller->second, i);
      } else {
        roots.push_back(i);
      }
    }
    for (const std::size_t root : roots) {
      Visit(root);
    }
  }

 private:
  // A list of each node's children: no memory of its own for any of them.
  struct Children {
    std::size_t first = kNone, last = kNone;  // of this node's
    std::size_t next = kNone;                 // after this node, of its caller's
  };
  static constexpr std::size_t kNone = SIZE_MAX;

  void AddChild(std::size_t caller, std::size_t child) {
    Children& of = children_[caller];
    (of.first == kNone ? of.first : children_[of.last].next) = child;
    of.last = child;
  }

  // Without recursion: callers nest as deep as the file says.
  void Visit(std::size_t root) {
    struct Frame {
      std::size_t next, event;
    };
    std::vector<Frame> stack = {{children_[root].first, Begin(root)}};
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next != kNone) {
        const std::size_t child = std::exchange(top.next, children_[top.next].next);
        stack.push_back({children_[child].first, Begin(child)});
      } else {
        kineto_.events[top.event].end_ns = ++now_ns_;
        stack.pop_back();
      }
    }
  }

  std::size_t Begin(std::size_t i) {
    const HostNode& node = host_.nodes[i];
    kineto_.events.push_back({.name = node.name,
                              .thread = node.thread,
                              .start_ns = ++now_ns_,
                              .rf_id = node.rf_id,
                              .annotation = node.scope == Scope::kUser});
    return kineto_.events.size() - 1;
  }

  HostTrace& host_;
  KinetoTrace& kineto_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
  std::vector<Children> children_;
  std::int64_t now_ns_ = 0;
};

}  // namespace

KinetoTrace KinetoOf(HostTrace& host, Diagnostics& diagnostics) {
  KinetoTrace kineto;
  kineto.untimed = true;
  kineto.strings = host.strings;
  Clock(host, kineto).Run();
  diagnostics.Count("no_times",
                    "a host trace alone has no times, no streams and no kernels: only what ran, in "
                    "which order, and on which data",
                    kineto.events.size());
  return kineto;
}

}  // namespace reprise::pytorch
