#include "replayer/plan/training_phases.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "core/text.h"

namespace reprise {
namespace {

using Index = Graph::Index;

bool IsTransferCall(std::string_view name) {
  return name.starts_with("c10d::") || name.starts_with("_c10d_functional::") ||
         name.starts_with("nccl:") || name.starts_with("gloo:");
}

// "AddmmBackward0", "All2All_Pooled_WaitBackward", "aten::embedding_backward".
bool EndsInBackward(std::string_view name) {
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0) {
    name.remove_suffix(1);
  }
  return name.ends_with("Backward") || name.ends_with("_backward");
}

bool CalledByBackward(std::string_view parent) {
  return parent.starts_with("autograd::engine::evaluate_function") ||
         parent.starts_with("torch::autograd::") || parent.starts_with("torch.distributed.ddp.") ||
         parent.starts_with("torch::distributed::reducer::") || EndsInBackward(parent);
}

// Called by the training loop itself, not by an operator or a backward function.
bool IsTopLevel(std::string_view parent) {
  return parent.empty() || parent.starts_with("ProfilerStep#") ||
         parent == "DistributedDataParallel.forward";
}

// The phase that a range implies for the nodes in it.
std::optional<Phase> PhaseOfRange(std::string_view name) {
  if (name.starts_with("Optimizer.")) {
    return Phase::kOptimizer;
  }
  if (name.starts_with("enumerate(DataLoader)#")) {
    return Phase::kOther;
  }
  return LowerCase(name).find("backward") != std::string::npos ? std::optional(Phase::kBackward)
                                                               : std::nullopt;
}

class PhaseFinder {
 public:
  explicit PhaseFinder(const Graph& graph)
      : graph_(graph),
        sure_(graph.size()),
        phases_(graph.size(), Phase::kOther),
        works_(graph.size()) {}

  std::vector<Phase> Find() {
    MarkWork();
    MarkSure();
    MarkRanges();
    FillThreads();
    PassToDevice();
    return std::move(phases_);
  }

 private:
  [[nodiscard]] bool OnThread(Index i) const {
    return graph_.actor(i).kind == Actor::Kind::kThread;
  }
  [[nodiscard]] static bool Is(std::optional<Phase> sure, Phase phase) {
    return sure.has_value() && *sure == phase;
  }

  // On a GPU, the operation on the host's thread is the launch of its kernels.
  void MarkWork() {
    for (Index i = 0; i < graph_.size(); ++i) {
      works_[i] = works_[i] || graph_.kind(i) == OpKind::kWork;
      for (std::size_t d = 0; d < graph_.deps(i).size(); ++d) {
        if (graph_.reasons(i)[d] == EdgeReason::kLaunch) {
          works_[graph_.deps(i)[d]] = true;
        }
      }
    }
  }

  void MarkSure() {
    for (Index i = 0; i < graph_.size(); ++i) {
      if (graph_.comm(i) != nullptr || graph_.op_class(i) == OpClass::kComm ||
          (OnThread(i) && IsTransferCall(graph_.name(i)))) {
        sure_[i] = Phase::kCommunication;
      } else if (!OnThread(i)) {
        continue;
      } else if (CalledByBackward(graph_.parent(i)) || EndsInBackward(graph_.name(i))) {
        sure_[i] = Phase::kBackward;
      } else if (graph_.op_class(i) == OpClass::kOptimizer) {
        sure_[i] = Phase::kOptimizer;
      } else {
        sure_[i] = PhaseOfRange(graph_.parent(i));
      }
    }
  }

  // Ranges are sorted by start, callers first: what is marked last is the innermost that speaks.
  void MarkRanges() {
    std::map<std::int64_t, std::vector<Index>> threads;  // nodes by start
    for (Index i = 0; i < graph_.size(); ++i) {
      if (OnThread(i)) {
        threads[graph_.actor(i).id].push_back(i);
      }
    }
    for (const Range& range : graph_.metadata().ranges) {
      const auto thread = threads.find(range.thread);
      const auto phase = PhaseOfRange(range.name);
      if (thread == threads.end() || !phase) {
        continue;
      }
      const std::vector<Index>& nodes = thread->second;
      auto at = std::lower_bound(
          nodes.begin(), nodes.end(), range.start_ns,
          [this](Index i, std::int64_t start_ns) { return graph_.start_ns(i) < start_ns; });
      for (; at != nodes.end() && graph_.start_ns(*at) < range.start_ns + range.duration_ns; ++at) {
        if (!Is(sure_[*at], Phase::kCommunication)) {
          sure_[*at] = phase;
        }
      }
    }
    threads_ = std::move(threads);
  }

  void FillThreads() {
    for (Index i = 0; i < graph_.size(); ++i) {
      if (Is(sure_[i], Phase::kBackward)) {
        last_backward_[graph_.step(i)] = i;
      }
    }
    for (const auto& [unused, nodes] : threads_) {
      FillThread(nodes);
    }
  }

  // What nothing is sure of waits until the next sure node of its thread and step.
  void FillThread(const std::vector<Index>& nodes) {
    std::vector<Index> waiting;
    std::optional<Index> before;
    for (const Index i : nodes) {
      if (before && graph_.step(*before) != graph_.step(i)) {
        Settle(waiting, before, std::nullopt);
        before.reset();
      }
      if (!sure_[i] || Is(sure_[i], Phase::kCommunication)) {
        waiting.push_back(i);
        continue;
      }
      Settle(waiting, before, i);
      phases_[i] = *sure_[i];
      before = i;
    }
    Settle(waiting, before, std::nullopt);
  }

  void Settle(std::vector<Index>& waiting, std::optional<Index> before,
              std::optional<Index> after) {
    const bool within_backward = before && after && Is(sure_[*before], Phase::kBackward) &&
                                 Is(sure_[*after], Phase::kBackward) &&
                                 std::none_of(waiting.begin(), waiting.end(), [this](Index i) {
                                   return !sure_[i] && works_[i] && IsTopLevel(graph_.parent(i));
                                 });
    for (const Index i : waiting) {
      phases_[i] = sure_[i]                ? *sure_[i]
                   : within_backward       ? Phase::kBackward
                   : BeforeLastBackward(i) ? Phase::kForward
                                           : Phase::kOther;
    }
    waiting.clear();
  }

  // A step without any backward pass is all forward.
  [[nodiscard]] bool BeforeLastBackward(Index i) const {
    const auto last = last_backward_.find(graph_.step(i));
    return last == last_backward_.end() || i < last->second;
  }

  // Device work and transfers follow the node that launched them.
  void PassToDevice() {
    for (const Index i : graph_.order()) {
      if (OnThread(i)) {
        continue;
      }
      if (sure_[i]) {
        phases_[i] = *sure_[i];
        continue;
      }
      phases_[i] = EndsInBackward(graph_.op(i)) ? Phase::kBackward : Phase::kOther;
      for (std::size_t d = 0; d < graph_.deps(i).size(); ++d) {
        if (graph_.reasons(i)[d] == EdgeReason::kLaunch) {
          phases_[i] = phases_[graph_.deps(i)[d]];
        }
      }
    }
  }

  const Graph& graph_;
  std::vector<std::optional<Phase>> sure_;
  std::vector<Phase> phases_;
  std::vector<bool> works_;  // runs or launches work
  std::map<std::int64_t, std::vector<Index>> threads_;
  std::map<std::int32_t, Index> last_backward_;  // by step
};

}  // namespace

std::vector<Phase> FindPhases(const Graph& graph) { return PhaseFinder(graph).Find(); }

}  // namespace reprise
