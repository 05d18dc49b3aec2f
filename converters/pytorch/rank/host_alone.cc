// The order of a host trace's calls, in place of times.
#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "converters/pytorch/host/id_index.h"
#include "converters/pytorch/rank/sort_runs.h"
#include "converters/pytorch/rank/stages.h"

namespace reprise::pytorch {
namespace {

class Clock {
 public:
  Clock(HostTrace& host, KinetoTrace& kineto)
      : host_(host), kineto_(kineto), by_id_(host.highest_id, host.nodes.size()) {
    for (std::size_t i = 0; i < host.nodes.size(); ++i) {
      by_id_.Insert(host.nodes[i].id, static_cast<std::int32_t>(i));
    }
    children_.resize(host.nodes.size());
  }

  void Run() {
    const std::vector<std::size_t> order = InOrderOfCreation();
    ReserveThreads(order);
    std::int64_t number = 0;
    for (const std::size_t i : order) {
      host_.nodes[i].rf_id = ++number;
    }
    std::vector<std::size_t> roots;
    for (const std::size_t i : order) {
      if (const std::size_t caller = CallerOf(i); caller != kNone) {
        AddChild(caller, i);
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

  struct Created {
    std::int64_t rf_id;  // from 0 on
    std::uint64_t id;
    std::size_t node;
  };

  // By record-function id, then by node id. The former are numbers without large gaps: a place for
  // each of them, a tenth of the time of sorting what comes in order of its end.
  static void Sort(std::vector<Created>& created) {
    std::int64_t highest = 0;
    for (const Created& one : created) {
      highest = std::max(highest, one.rf_id);
    }
    const auto less = [](const Created& a, const Created& b) {
      return std::pair(a.rf_id, a.id) < std::pair(b.rf_id, b.id);
    };
    constexpr std::size_t kMaxPerNode = 4;
    if (static_cast<std::uint64_t>(highest) > kMaxPerNode * created.size()) {
      SortRuns(created, less);
      return;
    }
    std::vector<std::uint32_t> places(static_cast<std::size_t>(highest) + 2);
    for (const Created& one : created) {
      ++places[static_cast<std::size_t>(one.rf_id) + 1];
    }
    std::partial_sum(places.begin(), places.end(), places.begin());
    std::vector<Created> sorted(created.size());
    for (const Created& one : created) {
      sorted[places[static_cast<std::size_t>(one.rf_id)]++] = one;
    }
    created = std::move(sorted);
    SortRuns(created, less);  // those that share an id
  }

  [[nodiscard]] std::vector<std::size_t> InOrderOfCreation() const {
    std::vector<Created> created;
    created.reserve(host_.nodes.size());
    for (std::size_t i = 0; i < host_.nodes.size(); ++i) {
      const HostNode& node = host_.nodes[i];
      // Not an operation: "[pytorch|profiler|execution_trace|process]".
      if (!node.name->starts_with("[pytorch|")) {
        created.push_back({std::max<std::int64_t>(node.rf_id, 0), node.id, i});
      }
    }
    // Without record-function ids, node ids alone.
    Sort(created);
    std::vector<std::size_t> order;
    order.reserve(created.size());
    for (const Created& one : created) {
      order.push_back(one.node);
    }
    return order;
  }

  // Events by thread: readers sort them so.
  void ReserveThreads(const std::vector<std::size_t>& order) {
    for (const std::size_t i : order) {
      ++next_of_thread_[host_.nodes[i].thread];
    }
    std::size_t first = 0;
    for (auto& [thread, next] : next_of_thread_) {
      first += std::exchange(next, first);
    }
    kineto_.events.resize(order.size());
    kineto_.host_nodes.resize(order.size());
  }

  // Created before what it calls and on the same thread, or it is no caller.
  [[nodiscard]] std::size_t CallerOf(std::size_t i) const {
    const std::int32_t at = by_id_.Find(host_.nodes[i].caller);
    if (at == IdIndex::kNone) {
      return kNone;
    }
    const HostNode& caller = host_.nodes[static_cast<std::size_t>(at)];
    const bool nested = caller.rf_id > 0 && caller.rf_id < host_.nodes[i].rf_id &&
                        caller.thread == host_.nodes[i].thread;
    return nested ? static_cast<std::size_t>(at) : kNone;
  }

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
    const std::size_t event = next_of_thread_[node.thread]++;
    kineto_.host_nodes[event] = static_cast<std::int32_t>(i);
    kineto_.events[event] = {.name = node.name,
                             .thread = node.thread,
                             .start_ns = ++now_ns_,
                             .rf_id = node.rf_id,
                             .annotation = node.scope == Scope::kUser};
    return event;
  }

  HostTrace& host_;
  KinetoTrace& kineto_;
  IdIndex by_id_;
  std::vector<Children> children_;
  std::map<std::int64_t, std::size_t> next_of_thread_;  // place of its next event
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
