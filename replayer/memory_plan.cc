#include "replayer/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "replayer/happens_before.h"

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
    AddPromises();
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
      for (const Graph::Index dep : graph_.deps(i)) {
        if (plan_.work[dep].type == WorkType::kTransfer &&
            plan_.work[i].type != WorkType::kTransfer) {
          waited_at_.try_emplace(dep, i);
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
      const bool first_execution = executed_.insert(tensor.incarnation).second;
      life.actor = first_execution ? actor : life.actor;
      life.single_actor = life.single_actor && life.actor == actor;
      any_shared_ = any_shared_ || !life.single_actor;
      NoteUse(tensor.incarnation, i, last == kForever ? i : last);
    }
    const std::int64_t end_elements = tensor.offset + ExtentElements(tensor);
    life.bytes = std::max(life.bytes, end_elements * SizeOf(tensor.dtype));
  }

  // `user` uses the storage; once `over` is done, it has.
  void NoteUse(std::int64_t incarnation, Graph::Index user, Graph::Index over) {
    std::vector<ActorUse>& uses = uses_[incarnation];
    const auto of = [&](std::uint32_t actor) -> ActorUse& {
      const auto it = std::find_if(uses.begin(), uses.end(),
                                   [&](const ActorUse& use) { return use.actor == actor; });
      return it != uses.end() ? *it : uses.emplace_back(ActorUse{actor});
    };
    ActorUse& mine = of(plan_.work[user].actor);
    mine.first = std::min(mine.first, user);
    ActorUse& last = of(plan_.work[over].actor);
    last.last = last.last == kForever ? over : std::max(last.last, over);
  }

  void AddPromises() {
    if (!any_shared_) {
      return;  // each thread's or stream's own order is enough
    }
    const HappensBefore order(graph_, plan_);
    for (const auto& [incarnation, uses] : uses_) {
      StorageLife& life = lives_.at(incarnation);
      for (const ActorUse& use : uses) {
        if (use.last != kForever) {
          life.until.emplace_back(use.actor, order.Position(use.last));
        }
        if (use.first != kForever) {
          const auto before = order.Before(use.first);
          life.after.resize(before.size(), kForever);
          std::transform(before.begin(), before.end(), life.after.begin(), life.after.begin(),
                         [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); });
        }
      }
    }
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

  struct ActorUse {
    std::uint32_t actor = 0;
    Graph::Index first = kForever;  // its first node that uses the storage
    Graph::Index last = kForever;   // its last that uses it, or waits for a transfer that does
  };

  const Graph& graph_;
  const Plan& plan_;
  bool any_shared_ = false;
  std::unordered_map<std::int64_t, StorageLife> lives_;
  std::unordered_map<std::int64_t, std::vector<ActorUse>> uses_;
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

// One buffer's storages by birth.
using Tenants = std::map<std::uint32_t, const StorageLife*>;

bool FitsIn(const Tenants& tenants, const StorageLife& life, bool as_recorded) {
  const auto next = tenants.lower_bound(life.first);
  return (next == tenants.end() || IsOverBefore(life, *next->second, as_recorded)) &&
         (next == tenants.begin() || IsOverBefore(*std::prev(next)->second, life, as_recorded));
}

}  // namespace

Result<std::vector<StorageLife>> FindLifetimes(const Graph& graph, const Plan& plan) {
  return LifetimeScan(graph, plan).Run();
}

MemoryPlan PlanMemory(std::vector<StorageLife> storages, bool share_across_actors) {
  // Looking at every buffer would take minutes for the largest traces, and gain little.
  constexpr std::size_t kMostTried = 512;
  MemoryPlan plan;
  plan.original_peak_bytes = PeakBytes(storages);
  std::vector<const StorageLife*> by_size;
  for (const StorageLife& life : storages) {
    by_size.push_back(&life);
  }
  std::stable_sort(by_size.begin(), by_size.end(), [](const auto* a, const auto* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : (a->last - a->first) > (b->last - b->first);
  });
  std::vector<std::pair<std::uint32_t, Tenants>> shared;  // buffers of several storages
  for (const StorageLife* life : by_size) {
    std::pair<std::uint32_t, Tenants>* home = nullptr;
    const bool reusable = !life->persistent && life->last != kForever;
    const std::size_t tries = reusable ? std::min(shared.size(), kMostTried) : 0;
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
      home = &shared.emplace_back(fresh, Tenants{});
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
