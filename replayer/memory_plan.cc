#include "replayer/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace reprise {
namespace {

constexpr std::uint32_t kForever = UINT32_MAX;

class LifetimeScan {
 public:
  LifetimeScan(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {}

  Result<std::vector<StorageLife>> Run() {
    FindWaits();
    for (Graph::Index i = 0; i < graph_.size(); ++i) {
      auto call = graph_.Call(i);
      if (!call) {
        return BadInput(fmt::format("node {}: {}", graph_.id(i), call.error().message));
      }
      Touch(i, *call);
    }
    PropagateBounds();
    std::vector<StorageLife> out;
    for (auto& [incarnation, life] : lives_) {
      if (executed_.contains(incarnation)) {
        out.push_back(life);
      }
    }
    std::sort(out.begin(), out.end(),
              [](const auto& a, const auto& b) { return a.incarnation < b.incarnation; });
    return out;
  }

 private:
  // Until when a transfer may still touch its buffers: the first node that waits for it.
  void FindWaits() {
    for (Graph::Index i = 0; i < graph_.size(); ++i) {
      const auto deps = graph_.deps(i);
      for (std::size_t k = 0; k < deps.size(); ++k) {
        if (graph_.reasons(i)[k] == EdgeReason::kCommWait) {
          waited_at_.try_emplace(deps[k], i);
        }
      }
    }
  }

  void Touch(Graph::Index i, const OpCall& call) {
    const Work& work = plan_.work[i];
    const bool executes = work.type == WorkType::kCompute || work.type == WorkType::kTransfer;
    std::uint32_t last = i;
    if (work.type == WorkType::kTransfer) {
      const auto it = waited_at_.find(i);
      last = it == waited_at_.end() ? kForever : std::max<std::uint32_t>(it->second, i);
    }
    for (const TensorDesc* tensor : TensorsIn(call.inputs)) {
      Use(i, last, *tensor, true, executes);
    }
    for (const TensorDesc* tensor : TensorsIn(call.outputs)) {
      Use(i, last, *tensor, false, executes);
    }
    if (work.type == WorkType::kCompute) {
      for (const auto& [incarnation, bound] : IndexBounds(call)) {
        NarrowBound(incarnation, bound);
      }
      RememberFlow(call);
    }
  }

  void Use(Graph::Index i, std::uint32_t last, const TensorDesc& tensor, bool is_input,
           bool executes) {
    const auto [it, added] = lives_.try_emplace(tensor.incarnation);
    StorageLife& life = it->second;
    const std::uint32_t actor = plan_.work[i].actor;
    if (added) {
      life.incarnation = tensor.incarnation;
      life.first = i;
      life.persistent = is_input;
      life.actor = actor;
      life.dtype = tensor.dtype;
    }
    life.last = std::max(life.last, last);
    if (executes) {
      executed_.insert(tensor.incarnation);
      life.single_actor = life.single_actor && life.actor == actor;
    }
    const std::int64_t end_elements = tensor.offset + ExtentElements(tensor);
    life.bytes = std::max(life.bytes, end_elements * SizeOf(tensor.dtype));
  }

  void NarrowBound(std::int64_t incarnation, std::int64_t bound) {
    std::int64_t& known = bounds_[incarnation];
    known = known == 0 ? bound : std::min(known, bound);
  }

  // Integer values pass through copies and selections unchanged: a bound on the result binds the
  // source (paths[randint] → slice → embedding).
  void RememberFlow(const OpCall& call) {
    const TensorDesc* out = call.OutputTensor(0);
    if (out == nullptr || !IsIntegral(out->dtype)) {
      return;
    }
    static const std::set<std::string_view> kPassThrough = {
        "aten::copy_", "aten::index",  "aten::index_select",     "aten::gather",
        "aten::cat",   "aten::repeat", "aten::repeat_interleave"};
    if (!kPassThrough.contains(call.name)) {
      return;
    }
    for (const TensorDesc* in : TensorsIn(call.inputs)) {
      if (in->dtype == out->dtype && in->incarnation != out->incarnation) {
        flows_.push_back({in->incarnation, out->incarnation});
        break;  // the first tensor is the source; the others are indices
      }
    }
  }

  void PropagateBounds() {
    for (auto it = flows_.rbegin(); it != flows_.rend(); ++it) {
      if (const auto bound = bounds_.find(it->second); bound != bounds_.end()) {
        NarrowBound(it->first, bound->second);
      }
    }
    for (const auto& [incarnation, bound] : bounds_) {
      if (const auto it = lives_.find(incarnation); it != lives_.end()) {
        it->second.index_bound = bound;
      }
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  std::unordered_map<std::int64_t, StorageLife> lives_;
  std::set<std::int64_t> executed_;
  std::unordered_map<std::uint32_t, std::uint32_t> waited_at_;
  std::unordered_map<std::int64_t, std::int64_t> bounds_;
  std::vector<std::pair<std::int64_t, std::int64_t>> flows_;
};

std::int64_t PeakBytes(const std::vector<StorageLife>& storages) {
  std::map<std::uint64_t, std::int64_t> change;
  for (const StorageLife& life : storages) {
    change[life.persistent ? 0 : life.first] += life.bytes;
    change[static_cast<std::uint64_t>(life.persistent ? kForever : life.last) + 1] -= life.bytes;
  }
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const auto& [position, delta] : change) {
    live += delta;
    peak = std::max(peak, live);
  }
  return peak;
}

// Buffers free for reuse by one actor, smallest first.
using FreeList = std::multimap<std::int64_t, std::uint32_t>;

}  // namespace

Result<std::vector<StorageLife>> FindLifetimes(const Graph& graph, const Plan& plan) {
  return LifetimeScan(graph, plan).Run();
}

MemoryPlan PlanMemory(std::vector<StorageLife> storages, bool share_across_actors) {
  MemoryPlan plan;
  plan.original_peak_bytes = PeakBytes(storages);
  std::vector<const StorageLife*> by_birth;
  for (const StorageLife& life : storages) {
    by_birth.push_back(&life);
  }
  std::stable_sort(by_birth.begin(), by_birth.end(),
                   [](const auto* a, const auto* b) { return a->first < b->first; });
  std::map<std::uint32_t, FreeList> free_of_actor;
  struct Dying {
    std::int64_t bytes;
    std::uint32_t buffer;
    std::uint32_t actor;
  };
  std::multimap<std::uint32_t, Dying> dying;  // by last use
  for (const StorageLife* life : by_birth) {
    while (!dying.empty() && dying.begin()->first < life->first) {
      const Dying& dead = dying.begin()->second;
      free_of_actor[dead.actor].emplace(dead.bytes, dead.buffer);
      dying.erase(dying.begin());
    }
    const bool reusable =
        !life->persistent && life->last != kForever && (life->single_actor || share_across_actors);
    const std::uint32_t owner = share_across_actors ? 0 : life->actor;
    std::uint32_t buffer = 0;
    FreeList& free = free_of_actor[owner];
    // A buffer over twice the size is left for something bigger.
    const auto fit = free.lower_bound(life->bytes);
    if (reusable && fit != free.end() && fit->first <= 2 * life->bytes + 4096) {
      buffer = fit->second;
      free.erase(fit);
    } else {
      buffer = static_cast<std::uint32_t>(plan.buffer_bytes.size());
      plan.buffer_bytes.push_back(life->bytes);
    }
    plan.buffer_of[life->incarnation] = buffer;
    if (reusable) {
      dying.emplace(life->last, Dying{plan.buffer_bytes[buffer], buffer, owner});
    }
  }
  for (const std::int64_t bytes : plan.buffer_bytes) {
    plan.planned_bytes += bytes;
  }
  plan.storages = std::move(storages);
  return plan;
}

}  // namespace reprise
