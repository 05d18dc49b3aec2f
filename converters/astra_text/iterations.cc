#include "converters/astra_text/iterations.h"

#include <fmt/format.h>

#include <initializer_list>

#include "converters/comm_sizes.h"

namespace reprise::astra_text {
namespace {

// A node to wait for: nothing before it was made.
using Id = std::optional<std::uint64_t>;

class IterationBuilder {
 public:
  IterationBuilder(const Workload& workload, const Groups& groups, Diagnostics& diagnostics)
      : workload_(workload),
        groups_(groups),
        diagnostics_(diagnostics),
        weights_ready_(workload.layers.size()) {}

  std::vector<Node> Run(std::int32_t passes) {
    CountUnused();
    for (std::int32_t pass = 0; pass < passes; ++pass) {
      switch (workload_.parallelism) {
        case Parallelism::kMicro:
          Micro();
          break;
        case Parallelism::kInference:
          Forward();
          break;
        case Parallelism::kData:
          Forward();
          BackwardData();
          break;
        case Parallelism::kModel:
        case Parallelism::kHybrid:
          Forward();
          BackwardModel();
          break;
        case Parallelism::kRecompute:
          Forward();
          BackwardRecompute();
          break;
        case Parallelism::kDlrm:
          ForwardDlrm();
          BackwardData();
          break;
      }
    }
    return std::move(nodes_);
  }

 private:
  [[nodiscard]] std::size_t size() const { return workload_.layers.size(); }
  [[nodiscard]] const Layer& At(std::size_t i) const { return workload_.layers[i]; }

  Node& Add(std::string name, std::initializer_list<Id> deps) {
    Node& node = nodes_.emplace_back();
    node.id = nodes_.size();
    node.name = std::move(name);
    for (const Id& dep : deps) {
      if (dep) {
        node.deps.push_back({.node_id = *dep, .reason = EdgeReason::kData});
      }
    }
    return node;
  }

  std::uint64_t Compute(const Layer& layer, std::string_view phase, std::int64_t ns,
                        std::initializer_list<Id> deps) {
    Node& node = Add(fmt::format("{} {}", layer.name, phase), deps);
    node.type = NodeType::kComp;
    node.kind = OpKind::kWork;
    node.actor = {.kind = Actor::Kind::kStream, .id = 0, .device = 0};
    node.duration_ns = ns;
    return node.id;
  }

  // The transfer, or what it would have waited for.
  Id Transfer(const Layer& layer, std::string_view phase, const Phase& what, Id after) {
    if (!what.transfer || groups_.SizeOf(what.scope) < 2) {
      return after;
    }
    Node& node = Add(fmt::format("{} {} {}", layer.name, phase, Name(*what.transfer)), {after});
    node.type = NodeType::kCommColl;
    node.kind = OpKind::kComm;
    node.op_class = OpClass::kComm;
    node.actor = {.kind = Actor::Kind::kGroup};
    CommSpec& spec = node.comm.emplace();
    spec.kind = *what.transfer;
    spec.group = ScopeName(
        groups_.SizeOf(what.scope) == groups_.SizeOf(Scope::kWorld) ? Scope::kWorld : what.scope);
    spec.certainty = GroupCertainty::kInferred;
    spec.async = true;
    node.untimed = true;
    diagnostics_.Count("no_recorded_time", node.name);
    spec.in_bytes = what.bytes;
    CompleteSizes(groups_.SizeOf(what.scope), node.name, spec, diagnostics_);
    return node.id;
  }

  void Micro() {
    for (std::size_t i = 0; i < size(); ++i) {
      Transfer(At(i), "weight gradient", At(i).weight_gradient, {});
    }
  }

  void Forward() {
    last_forward_.reset();
    for (std::size_t i = 0; i < size(); ++i) {
      last_forward_ = ForwardOf(i, last_forward_);
    }
  }

  Id ForwardOf(std::size_t i, Id before) {
    const Id compute =
        Compute(At(i), "forward", At(i).forward.compute_ns, {before, weights_ready_[i]});
    return workload_.parallelism == Parallelism::kData
               ? compute
               : Transfer(At(i), "forward", At(i).forward, compute);
  }

  void BackwardRecompute() {
    Id before = last_forward_;
    for (std::size_t i = size(); i-- > 0;) {
      const Layer& layer = At(i);
      if (layer.recomputes) {
        std::size_t from = i;
        while (!At(from).checkpoint) {
          --from;
        }
        for (; from < i; ++from) {
          before = ForwardOf(from, before);
        }
      }
      before = Compute(layer, "input gradient", layer.input_gradient.compute_ns, {before});
      before = Transfer(layer, "input gradient", layer.input_gradient, before);
      before = Compute(layer, "weight gradient", layer.weight_gradient.compute_ns, {before});
      weights_ready_[i] = Transfer(layer, "weight gradient", layer.weight_gradient, before);
    }
  }

  void BackwardData() {
    const bool dlrm = workload_.parallelism == Parallelism::kDlrm;
    Id before = last_forward_;
    Id exchange;  // the embeddings', of layer 0
    for (std::size_t i = size(); i-- > 0;) {
      const Layer& layer = At(i);
      before = Compute(layer, "weight gradient", layer.weight_gradient.compute_ns,
                       {before, i == 0 ? exchange : Id()});
      weights_ready_[i] = Transfer(layer, "weight gradient", layer.weight_gradient, before);
      if (i > 0) {
        before = Compute(layer, "input gradient", layer.input_gradient.compute_ns, {before});
      }
      if (dlrm && static_cast<std::int64_t>(i) == workload_.last_bottom_layer + 1) {
        exchange = Transfer(At(0), "input gradient", At(0).input_gradient, before);
        if (exchange == before) {
          exchange.reset();
        }
      }
    }
  }

  void BackwardModel() {
    Id before = last_forward_;
    Id transfer;
    for (std::size_t i = size(); i-- > 0;) {
      const Layer& layer = At(i);
      const Id input =
          Compute(layer, "input gradient", layer.input_gradient.compute_ns, {before, transfer});
      // Nobody needs the first layer's.
      transfer = i > 0 ? Transfer(layer, "input gradient", layer.input_gradient, input) : input;
      if (transfer == input) {
        transfer.reset();
      }
      before = Compute(layer, "weight gradient", layer.weight_gradient.compute_ns, {input});
      weights_ready_[i] = workload_.parallelism == Parallelism::kModel
                              ? before
                              : Transfer(layer, "weight gradient", layer.weight_gradient, before);
    }
  }

  void ForwardDlrm() {
    last_forward_.reset();
    Id exchange;  // the embeddings', of layer 0
    for (std::size_t i = 0; i < size(); ++i) {
      const Layer& layer = At(i);
      const bool meets = static_cast<std::int64_t>(i) == workload_.last_bottom_layer;
      const Id compute = Compute(layer, "forward", layer.forward.compute_ns,
                                 {last_forward_, weights_ready_[i], meets ? exchange : Id()});
      const Id transfer = Transfer(layer, "forward", layer.forward, compute);
      if (i == 0 && transfer != compute) {
        exchange = transfer;
      }
      last_forward_ = compute;
    }
  }

  void CountUnused() {
    if (workload_.simai) {
      diagnostics_.Count("times_taken_as_ns", fmt::format("{} layers", size()), size());
    }
    if (workload_.pipeline_parallel > 1) {
      diagnostics_.Count("pipeline_not_modelled",
                         fmt::format("pp: {}", workload_.pipeline_parallel));
    }
    for (const std::string& name : workload_.not_used) {
      diagnostics_.Count("workload_parameter_not_used", name);
    }
    const Parallelism type = workload_.parallelism;
    const bool micro = type == Parallelism::kMicro;
    const bool inference = type == Parallelism::kInference;
    for (std::size_t i = 0; i < size(); ++i) {
      const Layer& layer = At(i);
      const auto check = [&](const Phase& phase, bool used, std::string_view name) {
        if (phase.transfer && !used) {
          diagnostics_.Count("transfer_not_used",
                             fmt::format("layer {}: {} with {}", layer.name, name, workload_.type));
        }
      };
      check(layer.forward, !micro && type != Parallelism::kData, "forward");
      check(layer.input_gradient,
            type == Parallelism::kDlrm
                ? i == 0
                : type == Parallelism::kRecompute ||
                      (i > 0 && (type == Parallelism::kModel || type == Parallelism::kHybrid)),
            "input gradient");
      check(layer.weight_gradient, type != Parallelism::kModel && !inference, "weight gradient");
      if (layer.update_ns > 0) {
        diagnostics_.Count("update_time_not_used", fmt::format("layer {}", layer.name));
      }
    }
  }

  const Workload& workload_;
  const Groups& groups_;
  Diagnostics& diagnostics_;
  std::vector<Id> weights_ready_;  // by layer: what the next pass's forward waits for
  std::vector<Node> nodes_;
  Id last_forward_;
};

}  // namespace

std::vector<Node> BuildIterations(const Workload& workload, std::int32_t passes,
                                  const Groups& groups, Diagnostics& diagnostics) {
  return IterationBuilder(workload, groups, diagnostics).Run(passes);
}

}  // namespace reprise::astra_text
