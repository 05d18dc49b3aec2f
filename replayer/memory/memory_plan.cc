#include "replayer/memory/memory_plan.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace reprise {
namespace {

constexpr std::uint32_t kUsedToTheEnd = UINT32_MAX;

std::int64_t PeakBytes(const std::vector<StorageLife>& storages) {
  std::map<std::uint64_t, std::int64_t> change;
  for (const StorageLife& life : storages) {
    change[life.persistent ? 0 : life.first] += life.bytes;
    change[static_cast<std::uint64_t>(life.persistent ? kUsedToTheEnd : life.last) + 1] -=
        life.bytes;
  }
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const auto& [position, delta] : change) {
    live += delta;
    peak = std::max(peak, live);
  }
  return peak;
}

// Every use of `a` is over before the first of `b` begins.
bool IsOverBefore(const StorageLife& a, const StorageLife& b, bool as_recorded) {
  if (a.last >= b.first) {
    return false;
  }
  if (as_recorded || (a.single_actor && b.single_actor && a.actor == b.actor)) {
    return true;
  }
  return !a.until.empty() && std::all_of(a.until.begin(), a.until.end(), [&](const auto& use) {
    return use.first < b.after.size() && use.second <= b.after[use.first];
  });
}

// The storages of one buffer, by their first use.
using LivesByFirstUse = std::map<std::uint32_t, const StorageLife*>;

bool FitsIn(const LivesByFirstUse& lives, const StorageLife& life, bool as_recorded) {
  const auto next = lives.lower_bound(life.first);
  return (next == lives.end() || IsOverBefore(life, *next->second, as_recorded)) &&
         (next == lives.begin() || IsOverBefore(*std::prev(next)->second, life, as_recorded));
}

}  // namespace

MemoryPlan PlanMemory(std::vector<StorageLife> storages, bool share_across_actors) {
  // A search of all buffers would take minutes for the largest traces and save little memory.
  constexpr std::size_t kMaxTried = 512;
  MemoryPlan plan;
  plan.shared_across_actors = share_across_actors;
  plan.original_peak_bytes = PeakBytes(storages);
  std::vector<const StorageLife*> by_size;
  by_size.reserve(storages.size());
  for (const StorageLife& life : storages) {
    by_size.push_back(&life);
  }
  // Equal sizes: the longest-lived first, so that short lives fit around them.
  std::stable_sort(by_size.begin(), by_size.end(), [](const auto* a, const auto* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : (a->last - a->first) > (b->last - b->first);
  });
  std::vector<std::pair<std::uint32_t, LivesByFirstUse>> shared;  // buffers of several storages
  for (const StorageLife* life : by_size) {
    std::pair<std::uint32_t, LivesByFirstUse>* home = nullptr;
    const bool reusable = !life->persistent && life->last != kUsedToTheEnd;
    const std::size_t tries = reusable ? std::min(shared.size(), kMaxTried) : 0;
    for (std::size_t k = 0; k < tries && home == nullptr; ++k) {
      auto& candidate = shared[shared.size() - 1 - k];
      home = FitsIn(candidate.second, *life, share_across_actors) ? &candidate : nullptr;
    }
    const auto fresh = static_cast<std::uint32_t>(plan.buffer_bytes.size());
    if (home == nullptr) {
      plan.buffer_bytes.push_back(life->bytes);
      plan.planned_bytes += life->bytes;
    }
    if (home == nullptr && reusable) {
      home = &shared.emplace_back(fresh, LivesByFirstUse{});
    }
    if (home != nullptr) {
      home->second.emplace(life->first, life);
    }
    plan.buffer_of[life->incarnation] = home != nullptr ? home->first : fresh;
  }
  for (StorageLife& life : storages) {  // only planning needs them
    life.until = {};
    life.after = {};
  }
  plan.storages = std::move(storages);
  return plan;
}

}  // namespace reprise
