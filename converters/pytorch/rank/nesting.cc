// Which operation calls which.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "converters/pytorch/host/id_index.h"
#include "converters/pytorch/rank/operation_list.h"
#include "converters/pytorch/rank/sort_runs.h"
#include "core/clock.h"
#include "core/counters.h"

namespace reprise::pytorch {
namespace {

bool IsLoose(const Operation& op) {
  return op.transfer && (op.name->starts_with("gloo:send") || op.name->starts_with("gloo:recv"));
}

// Sorts by thread (loose ones last), then start, callers first.
void SortByNesting(const KinetoTrace& kineto, const std::vector<std::int32_t>& order,
                   std::vector<Operation>& operations) {
  const auto thread = [&](const Operation& op) {
    return kineto.events[static_cast<std::size_t>(op.event)].thread;
  };
  SortRuns(operations, [&](const Operation& a, const Operation& b) {
    if (IsLoose(a) != IsLoose(b)) {
      return IsLoose(b);
    }
    if (!IsLoose(a) && thread(a) != thread(b)) {
      return thread(a) < thread(b);
    }
    if (a.start_ns != b.start_ns) {
      return a.start_ns < b.start_ns;
    }
    if (!order.empty()) {
      return order[static_cast<std::size_t>(a.event)] < order[static_cast<std::size_t>(b.event)];
    }
    return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.rf_id < b.rf_id;
  });
}

bool HasWholeMicroseconds(const std::vector<Operation>& operations) {
  return std::all_of(operations.begin(), operations.end(), [](const Operation& op) {
    return op.start_ns % kNsPerUs == 0 && op.end_ns % kNsPerUs == 0;
  });
}

// By operation: the one that the host trace says called it, if that is on the same thread and
// before it; else -1.
std::vector<std::int32_t> RecordedCallers(const HostTrace& host,
                                          const std::vector<Operation>& operations) {
  IdIndex by_id(host.highest_id, operations.size());
  const auto node = [&](const Operation& op) -> const HostNode& {
    return host.nodes[static_cast<std::size_t>(op.host)];
  };
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].host >= 0) {
      by_id.Insert(node(operations[i]).id, static_cast<std::int32_t>(i));
    }
  }
  std::vector<std::int32_t> out(operations.size(), -1);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& op = operations[i];
    const std::int32_t at = op.host < 0 ? IdIndex::kNone : by_id.Find(node(op).caller);
    if (at != IdIndex::kNone && at < static_cast<std::int32_t>(i) &&
        operations[static_cast<std::size_t>(at)].thread == op.thread) {
      out[i] = at;
    }
  }
  return out;
}

// Innermost first: what a caller gains, its own caller gains too.
void ExtendCallers(const std::vector<std::int32_t>& callers, const OperationThread& thread,
                   std::vector<Operation>& operations) {
  for (std::int32_t i = thread.last - 1; i >= thread.first; --i) {
    const Operation& op = operations[static_cast<std::size_t>(i)];
    const std::int32_t at = callers[static_cast<std::size_t>(i)];
    if (at < 0) {
      continue;
    }
    Operation& caller = operations[static_cast<std::size_t>(at)];
    if (op.start_ns <= caller.end_ns && op.end_ns - caller.end_ns <= kNsPerUs) {
      caller.end_ns = std::max(caller.end_ns, op.end_ns);
    }
  }
}

void Nest(const std::vector<std::int32_t>& callers, const std::string& label, OperationList& list,
          const OperationThread& thread, Diagnostics& diagnostics) {
  std::vector<std::int32_t> open;
  std::int64_t host_time_ns = 0;  // of what no other operation called
  auto& ops = list.operations;
  const auto top = [&]() -> const Operation& { return ops[static_cast<std::size_t>(open.back())]; };
  const auto close = [&](std::int32_t until) {
    ops[static_cast<std::size_t>(open.back())].subtree = until;
    open.pop_back();
  };
  for (std::int32_t i = thread.first; i < thread.last; ++i) {
    Operation& op = ops[static_cast<std::size_t>(i)];
    const std::int32_t recorded = callers[static_cast<std::size_t>(i)];
    while (!open.empty() && top().end_ns <= op.start_ns &&
           !(open.back() == recorded && top().end_ns == op.start_ns)) {
      close(i);
    }
    if (!open.empty()) {
      op.parent = open.back();
      if (op.end_ns > top().end_ns) {
        CountTime("operation_outlives_caller", op.end_ns - top().end_ns, diagnostics,
                  fmt::format("{}: {} in {}", label, *op.name, *top().name));
        op.end_ns = top().end_ns;
      }
    } else {
      host_time_ns += op.end_ns - op.start_ns;
    }
    open.push_back(i);
  }
  diagnostics.Count("host_time_ns", {}, static_cast<std::uint64_t>(host_time_ns));
  while (!open.empty()) {
    close(thread.last);
  }
}

// The host trace numbers threads by itself: take what most of a thread's operations say. Transfer
// records say which thread issued them instead of which ran them.
std::int64_t ThreadNumber(const OperationList& list, const OperationThread& thread,
                          const HostTrace& host) {
  std::map<std::int64_t, int> votes;
  for (std::int32_t i = thread.first; i < thread.last; ++i) {
    const Operation& op = list.operations[static_cast<std::size_t>(i)];
    if (op.host >= 0 && !op.transfer) {
      ++votes[host.nodes[static_cast<std::size_t>(op.host)].thread];
    }
  }
  const auto best = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == votes.end() ? thread.kineto_id : best->first;
}

}  // namespace

void NestOperations(const HostTrace& host, const KinetoTrace& kineto,
                    const std::vector<std::int32_t>& order, const std::string& label,
                    OperationList& list, Diagnostics& diagnostics) {
  SortByNesting(kineto, order, list.operations);
  const auto count = static_cast<std::int32_t>(list.operations.size());
  list.loose = count;
  for (std::int32_t i = 0; i < count; ++i) {
    Operation& op = list.operations[static_cast<std::size_t>(i)];
    op.subtree = i + 1;
    const std::int64_t id = kineto.events[static_cast<std::size_t>(op.event)].thread;
    if (IsLoose(op)) {
      list.loose = std::min(list.loose, i);
    } else if (list.threads.empty() || list.threads.back().kineto_id != id) {
      list.threads.push_back({.kineto_id = id, .first = i, .last = i});
    }
    if (list.loose == count) {
      list.threads.back().last = i + 1;
      op.thread = static_cast<std::int32_t>(list.threads.size()) - 1;
      continue;
    }
    const auto at = std::find_if(list.threads.begin(), list.threads.end(),
                                 [&](const OperationThread& t) { return t.kineto_id == id; });
    op.thread =
        at == list.threads.end() ? -1 : static_cast<std::int32_t>(at - list.threads.begin());
  }
  const bool whole_us = HasWholeMicroseconds(list.operations);
  const std::vector<std::int32_t> callers =
      whole_us ? RecordedCallers(host, list.operations)
               : std::vector<std::int32_t>(list.operations.size(), -1);
  for (OperationThread& thread : list.threads) {
    if (whole_us) {
      ExtendCallers(callers, thread, list.operations);
    }
    Nest(callers, label, list, thread, diagnostics);
    thread.number = ThreadNumber(list, thread, host);
  }
}

}  // namespace reprise::pytorch
