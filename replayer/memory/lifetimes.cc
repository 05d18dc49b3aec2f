// The memory plan's first half: lifetimes of storages, from the trace and its plan.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "replayer/memory/input_values.h"
#include "replayer/memory/memory_plan.h"

namespace reprise {
namespace {

constexpr std::uint32_t kLivesToTheEnd = UINT32_MAX;

// Which nodes have certainly ended before another one starts, whatever the timing: derived from the
// plan's dependencies alone (vector clocks).
class HappensBefore {
 public:
  // The order in further actors is ignored: the result is then incomplete, but never wrong.
  static constexpr std::uint32_t kMaxActors = 16;

  HappensBefore(const Graph& graph, const Plan& plan)
      : actors_(std::min(static_cast<std::uint32_t>(plan.actors.size()), kMaxActors)),
        position_(graph.size()),
        clocks_(std::size_t{graph.size()} * actors_) {
    std::uint32_t position = 0;
    for (const Graph::Index i : graph.order()) {
      position_[i] = ++position;
      std::uint32_t* const mine = clocks_.data() + std::size_t{i} * actors_;
      for (const std::uint32_t dep : plan.DepsOf(i)) {
        const std::span<const std::uint32_t> known = Before(dep);
        for (std::uint32_t a = 0; a < actors_; ++a) {
          mine[a] = std::max(mine[a], known[a]);
        }
        const std::uint32_t actor = plan.work[dep].actor;
        if (actor < actors_ && plan.work[dep].type != WorkType::kTransfer) {
          mine[actor] = std::max(mine[actor], position_[dep]);
        }
      }
    }
  }
  // Where the node stands in a topological order, from 1.
  [[nodiscard]] std::uint32_t Position(Graph::Index i) const { return position_[i]; }
  // By actor: all of its nodes up to this position are over before `i` starts; 0: none. Sequences
  // of transfers have 0: theirs is an order of issue.
  [[nodiscard]] std::span<const std::uint32_t> Before(Graph::Index i) const {
    return {clocks_.data() + std::size_t{i} * actors_, actors_};
  }

 private:
  std::uint32_t actors_;
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> clocks_;  // actors_ a node
};

class LifetimeScan {
 public:
  LifetimeScan(const Graph& graph, const Plan& plan)
      : graph_(graph), plan_(plan), values_(graph.metadata().index_ranges) {}

  Result<std::vector<StorageLife>> Run() {
    FindWaits();
    for (Graph::Index i = 0; i < graph_.size(); ++i) {
      auto call = graph_.Call(i);
      if (!call) {
        return BadInput(fmt::format("node {}: {}", graph_.id(i), call.error().message));
      }
      Touch(i, *call);
    }
    values_.Finish();
    KeepUnmade();
    AddPromises();
    std::vector<StorageLife> out;
    for (auto& [incarnation, life] : lives_) {
      if (executed_.contains(incarnation)) {
        values_.Apply(life);
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
    // Surrogates and copies of memory use scratch, timed nodes nothing.
    const bool executes = work.kernel != nullptr || work.type == WorkType::kTransfer;
    std::uint32_t last = i;
    if (work.type == WorkType::kTransfer) {
      const auto it = waited_at_.find(i);
      last = it == waited_at_.end() ? kLivesToTheEnd : std::max<std::uint32_t>(it->second, i);
    }
    for (const TensorDesc* tensor : TensorsIn(call.inputs)) {
      Use(i, last, *tensor, true, executes);
    }
    for (const TensorDesc* tensor : TensorsIn(call.outputs)) {
      Use(i, last, *tensor, false, executes);
    }
    if (work.type == WorkType::kCompute) {
      values_.Note(graph_.op_class(i), call, [this](std::int64_t incarnation) {
        const auto life = lives_.find(incarnation);
        return life != lives_.end() && life->second.persistent;
      });
    }
    if (work.type == WorkType::kTransfer) {
      values_.NoteTransfer(call);
    }
    if (executes) {
      NoteChanges(call, work.type == WorkType::kTransfer);
    }
  }

  // What is written in place would differ in the next iteration. An operation whose name ends in an
  // underscore changes its first tensor or list, a fused optimizer all of its lists.
  void NoteChanges(const OpCall& call, bool transfer) {
    for (const TensorDesc* tensor : TensorsIn(call.outputs)) {
      lives_.at(tensor->incarnation).changes = true;
    }
    const bool all = transfer || call.name.find("_fused_") != std::string::npos;
    if (all || (call.name.ends_with('_') && !call.inputs.empty())) {
      const ValueList first = {call.inputs.empty() ? Value{} : call.inputs.front()};
      for (const TensorDesc* tensor : TensorsIn(all ? call.inputs : first)) {
        lives_.at(tensor->incarnation).changes = true;
      }
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
    const Work& work = plan_.work[i];
    const bool real = executes && work.mode == ReplayMode::kReal;
    if (!is_input && !real && work.type != WorkType::kHost && work.type != WorkType::kWait &&
        !executed_.contains(tensor.incarnation)) {
      unmade_.insert(tensor.incarnation);
    }
    life.last = std::max(life.last, last);
    life.transferred = life.transferred || plan_.work[i].type == WorkType::kTransfer;
    if (executes) {
      const bool first_execution = executed_.insert(tensor.incarnation).second;
      life.actor = first_execution ? actor : life.actor;
      life.single_actor = life.single_actor && life.actor == actor;
      any_shared_ = any_shared_ || !life.single_actor;
      NoteUse(tensor.incarnation, i, last == kLivesToTheEnd ? i : last);
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
    last.last = last.last == kLivesToTheEnd ? over : std::max(last.last, over);
  }

  void AddPromises() {
    if (!any_shared_) {
      return;  // each thread's or stream's own order is enough
    }
    const HappensBefore order(graph_, plan_);
    for (const auto& [incarnation, uses] : uses_) {
      StorageLife& life = lives_.at(incarnation);
      for (const ActorUse& use : uses) {
        if (use.last != kLivesToTheEnd) {
          life.until.emplace_back(use.actor, order.Position(use.last));
        }
        if (use.first != kLivesToTheEnd) {
          const auto before = order.Before(use.first);
          life.after.resize(before.size(), kLivesToTheEnd);
          std::transform(before.begin(), before.end(), life.after.begin(), life.after.begin(),
                         [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); });
        }
      }
    }
  }

  // What computes them is timed or a surrogate, so they start as if they had existed before: what
  // was in their memory may be of another type. Indices always do; of the others, which would no
  // longer share memory, so many that the plan stays near the original's.
  void KeepUnmade() {
    constexpr std::int64_t kMinBytes = 64 << 20;
    std::int64_t left = 0;
    for (const auto& [incarnation, life] : lives_) {
      left += life.persistent ? life.bytes / 4 : 0;
    }
    left = std::max(left, kMinBytes);
    for (const std::int64_t incarnation : unmade_) {
      StorageLife& life = lives_.at(incarnation);
      if (!life.persistent && (IsIntegral(life.dtype) || life.bytes <= left)) {
        left -= IsIntegral(life.dtype) ? 0 : life.bytes;
        life.persistent = true;
        life.changes = true;  // any operation may write it
      }
    }
  }

  struct ActorUse {
    std::uint32_t actor = 0;
    Graph::Index first = kLivesToTheEnd;  // its first node that uses the storage
    Graph::Index last = kLivesToTheEnd;  // its last that uses it, or waits for a transfer that does
  };

  const Graph& graph_;
  const Plan& plan_;
  bool any_shared_ = false;
  std::unordered_map<std::int64_t, StorageLife> lives_;
  std::unordered_map<std::int64_t, std::vector<ActorUse>> uses_;
  std::set<std::int64_t> executed_;
  std::set<std::int64_t> unmade_;  // no real operation wrote them first
  std::unordered_map<std::uint32_t, std::uint32_t> waited_at_;
  InputValues values_;
};

}  // namespace

Result<std::vector<StorageLife>> FindLifetimes(const Graph& graph, const Plan& plan) {
  return LifetimeScan(graph, plan).Run();
}

}  // namespace reprise
