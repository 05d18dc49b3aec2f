#include "converters/pytorch/xla/async_runs.h"

#include <algorithm>
#include <utility>

namespace reprise::pytorch {

void AsyncRuns::Begin(std::string_view start, std::int64_t at_ns) {
  operations_[std::string(start)].runs.push_back({.start_ns = at_ns});
}

void AsyncRuns::Done(std::string_view start, std::int64_t from_ns, std::int64_t to_ns) {
  operations_[std::string(start)].waits.emplace_back(from_ns, to_ns);
}

void AsyncRuns::Own(std::string_view start, std::int64_t at_ns) {
  operations_[std::string(start)].own.push_back(at_ns);
}

std::int64_t AsyncRuns::Settle() {
  std::int64_t next = 0;
  for (auto& [name, operation] : operations_) {
    auto& [runs, waits, own, by_wait, by_own] = operation;
    std::ranges::stable_sort(runs, {}, &AsyncRun::start_ns);
    std::ranges::stable_sort(waits);
    std::ranges::stable_sort(own);
    std::size_t run = 0;
    for (const auto& [from_ns, to_ns] : waits) {  // the first that began is the first waited for
      if (run < runs.size() && runs[run].start_ns <= from_ns) {
        runs[run].done_ns = from_ns;
        runs[run].end_ns = to_ns;
        by_wait.emplace(from_ns, run++);
      }
    }
    run = 0;
    for (const std::int64_t at_ns : own) {
      // It begins within its beginning, or soon after, and before it is waited for to the end.
      while (run < runs.size() && runs[run].end_ns >= 0 && runs[run].end_ns < at_ns) {
        ++run;
      }
      if (run < runs.size() && runs[run].start_ns <= at_ns) {
        runs[run].alone = true;
        by_own.emplace(at_ns, run++);
      }
    }
    for (AsyncRun& one : runs) {
      one.item = next++;
    }
  }
  return next;
}

AsyncRuns::Operation* AsyncRuns::Find(std::string_view start) {
  const auto found = operations_.find(start);
  return found == operations_.end() ? nullptr : &found->second;
}

AsyncRun* AsyncRuns::ThatBegins(std::string_view start, std::int64_t at_ns) {
  Operation* const operation = Find(start);
  if (operation == nullptr) {
    return nullptr;
  }
  const auto run = std::ranges::lower_bound(operation->runs, at_ns, {}, &AsyncRun::start_ns);
  return run != operation->runs.end() && run->start_ns == at_ns && (run->done_ns >= 0 || run->alone)
             ? &*run
             : nullptr;
}

AsyncRun* AsyncRuns::ThatIsAwaited(std::string_view start, std::int64_t from_ns) {
  Operation* const operation = Find(start);
  if (operation == nullptr) {
    return nullptr;
  }
  const auto run = operation->by_wait.find(from_ns);
  return run == operation->by_wait.end() ? nullptr : &operation->runs[run->second];
}

AsyncRun* AsyncRuns::ThatOwns(std::string_view start, std::int64_t at_ns) {
  Operation* const operation = Find(start);
  if (operation == nullptr) {
    return nullptr;
  }
  const auto run = operation->by_own.find(at_ns);
  return run == operation->by_own.end() ? nullptr : &operation->runs[run->second];
}

}  // namespace reprise::pytorch
