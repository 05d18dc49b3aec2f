#include "converters/pytorch/edges/compiled_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "converters/pytorch/rank/compiled_code.h"
#include "core/counters.h"

namespace reprise::pytorch {
namespace {

// What is left of a thread's compiled operations beside its items. All come by start.
class OwnTimes {
 public:
  OwnTimes(const RankCapture& rank, std::int32_t thread) : rank_(rank), thread_(thread) {}

  void Enter(std::int32_t operation) {
    AdvanceTo(rank_.Op(operation).start_ns);
    open_.push_back(operation);
  }
  void Pass(const Item& item) {
    AdvanceTo(item.start_ns);
    at_ns_ = std::max(at_ns_, item.end_ns);
  }
  std::vector<Item> Finish() {
    AdvanceTo(INT64_MAX);
    return std::move(items_);
  }

 private:
  void AdvanceTo(std::int64_t time_ns) {
    while (!open_.empty()) {
      const std::int64_t end_ns = rank_.Op(open_.back()).end_ns;
      Add(open_.back(), std::min(end_ns, time_ns));
      if (end_ns > time_ns) {
        break;
      }
      open_.pop_back();
    }
    at_ns_ = std::max(at_ns_, time_ns);
  }

  void Add(std::int32_t operation, std::int64_t end_ns) {
    if (end_ns > at_ns_) {
      items_.push_back({.kind = Item::Kind::kCompiled,
                        .operation = operation,
                        .thread = thread_,
                        .start_ns = at_ns_,
                        .end_ns = end_ns});
      at_ns_ = end_ns;
    }
  }

  const RankCapture& rank_;
  const std::int32_t thread_;
  std::int64_t at_ns_ = INT64_MIN;
  std::vector<std::int32_t> open_;  // the innermost last
  std::vector<Item> items_;
};

void AddToThread(RankCapture& rank, const std::vector<std::int32_t>& code, std::int32_t thread,
                 std::vector<Item>& items) {
  OwnTimes times(rank, thread);
  auto item = items.begin();
  for (const std::int32_t operation : code) {
    for (; item != items.end() && item->start_ns < rank.Op(operation).start_ns; ++item) {
      times.Pass(*item);
    }
    times.Enter(operation);
  }
  for (; item != items.end(); ++item) {
    times.Pass(*item);
  }
  for (const Item& own : times.Finish()) {
    CountTime("compiled_code", own.end_ns - own.start_ns, rank.diagnostics,
              fmt::format("{}: {}", rank.label, *rank.Op(own.operation).name));
    items.push_back(own);
  }
  std::ranges::stable_sort(items, {}, &Item::start_ns);
}

}  // namespace

void AddCompiledItems(RankCapture& rank, std::vector<std::vector<Item>>& threads) {
  if (rank.kineto.untimed) {
    return;
  }
  std::map<std::int32_t, std::vector<std::int32_t>> of_thread;
  for (const std::int32_t operation : FindCompiledCode(rank)) {
    of_thread[rank.Op(operation).thread].push_back(operation);
  }
  for (const auto& [thread, code] : of_thread) {
    AddToThread(rank, code, thread, threads[static_cast<std::size_t>(thread)]);
  }
}

}  // namespace reprise::pytorch
