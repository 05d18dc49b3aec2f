// The memory plan's first half: lifetimes of storages, from the trace and its plan.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "replayer/happens_before.h"
#include "replayer/integer_values.h"
#include "replayer/memory_plan.h"

namespace reprise {
namespace {

constexpr std::uint32_t kLivesToTheEnd = UINT32_MAX;

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
    PropagateUses();
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
      for (const auto& [incarnation, bound] : IndexBounds(call)) {
        NarrowBound(incarnation, bound);
      }
      RememberProduct(graph_.op_class(i), call);
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

  void NarrowBound(std::int64_t incarnation, std::int64_t bound) {
    std::int64_t& known = bounds_[incarnation];
    known = known == 0 ? bound : std::min(known, bound);
  }

  void RememberProduct(OpClass op_class, const OpCall& call) {
    if (op_class == OpClass::kGemm || op_class == OpClass::kConv ||
        op_class == OpClass::kEmbedding) {
      for (const TensorDesc* in : TensorsIn(call.inputs)) {
        multiplied_.insert(in->incarnation);
      }
    }
  }

  // Values pass through copies and selections unchanged: a bound on the result binds the source
  // (paths[randint] → slice → embedding), and a product of the result is one of the source. A
  // number that is added or divides is chosen such that the bound holds.
  void RememberFlow(const OpCall& call) {
    integers_.Note(call);
    Flow flow;
    if (const auto step = IntegerValues::StepOf(call)) {
      flow.step = *step;
      flow.computed = true;
      flows_.push_back(flow);
      return;
    }
    const TensorDesc* out = call.OutputTensor(0);
    static const std::set<std::string_view> pass_through = {"aten::copy_",
                                                            "aten::index",
                                                            "aten::index_select",
                                                            "aten::gather",
                                                            "aten::roll",
                                                            "aten::repeat",
                                                            "aten::repeat_interleave",
                                                            "aten::flip",
                                                            "aten::constant_pad_nd",
                                                            "aten::masked_fill",
                                                            "aten::masked_fill_",
                                                            "aten::sort",
                                                            "aten::masked_select",
                                                            "aten::topk"};
    static const std::set<std::string_view> joins = {"aten::cat", "aten::stack", "aten::where"};
    const bool all = joins.contains(call.name);
    if (out == nullptr || (!all && !pass_through.contains(call.name))) {
      return;
    }
    for (const TensorDesc* in : TensorsIn(call.inputs)) {
      if (IsSameKind(*in, *out) && in->incarnation != out->incarnation) {
        flow.step.operand = in->incarnation;
        flow.step.result = out->incarnation;
        flows_.push_back(flow);
        if (!all) {
          break;  // the first tensor is the source; the others are indices
        }
      }
    }
  }

  static bool IsSameKind(const TensorDesc& a, const TensorDesc& b) {
    const auto counts = [](DType dtype) { return IsIntegral(dtype) && dtype != DType::kBool; };
    return a.dtype == b.dtype || (IsFloating(a.dtype) && IsFloating(b.dtype)) ||
           (counts(a.dtype) && counts(b.dtype));
  }

  void PropagateUses() {
    for (auto it = flows_.rbegin(); it != flows_.rend(); ++it) {
      const IntegerValues::Step& step = it->step;
      if (!it->computed && multiplied_.contains(step.result)) {
        multiplied_.insert(step.operand);
      }
      const auto bound = bounds_.find(step.result);
      if (bound == bounds_.end()) {
        continue;
      }
      const std::int64_t limit = bound->second;  // narrowing may move it
      if (it->computed) {
        lives_.at(step.number).number = integers_.NumberFor(step, limit);
      }
      if (!it->computed || !integers_.IsKnown(step.operand)) {
        NarrowBound(step.operand, limit);
      }
    }
    for (const auto& [incarnation, bound] : bounds_) {
      if (const auto it = lives_.find(incarnation); it != lives_.end()) {
        it->second.index_bound = bound;
      }
    }
    for (auto& [incarnation, life] : lives_) {
      life.multiplied = multiplied_.contains(incarnation);
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
  std::unordered_map<std::uint32_t, std::uint32_t> waited_at_;
  std::unordered_map<std::int64_t, std::int64_t> bounds_;
  std::unordered_set<std::int64_t> multiplied_;
  struct Flow {
    IntegerValues::Step step{};  // without a number where values pass through
    bool computed = false;
  };
  IntegerValues integers_;
  std::vector<Flow> flows_;
};

}  // namespace

Result<std::vector<StorageLife>> FindLifetimes(const Graph& graph, const Plan& plan) {
  return LifetimeScan(graph, plan).Run();
}

}  // namespace reprise
