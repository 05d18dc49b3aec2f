#include "predict/rescale/program_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

namespace reprise {
namespace {

using Index = Graph::Index;

constexpr Index kNone = std::numeric_limits<Index>::max();

std::vector<Index> LaunchersOf(const Graph& graph) {
  std::vector<Index> launcher(graph.size(), kNone);
  for (Index i = 0; i < graph.size(); ++i) {
    const auto reasons = graph.reasons(i);
    const auto found = std::ranges::find(reasons, EdgeReason::kLaunch);
    if (found != reasons.end()) {
      launcher[i] = graph.deps(i)[static_cast<std::size_t>(found - reasons.begin())];
    }
  }
  return launcher;
}

// Each node right after what launched it, where that is known.
std::vector<Index> InOrder(const Graph& graph, const std::vector<Index>& launcher) {
  std::vector<std::vector<Index>> launched(graph.size());
  for (Index i = 0; i < graph.size(); ++i) {
    if (launcher[i] != kNone) {
      launched[launcher[i]].push_back(i);
    }
  }
  std::vector<Index> nodes, open;
  nodes.reserve(graph.size());
  for (Index i = 0; i < graph.size(); ++i) {
    if (launcher[i] == kNone) {
      open.push_back(i);
    }
    while (!open.empty()) {
      const Index next = open.back();
      open.pop_back();
      nodes.push_back(next);
      open.insert(open.end(), launched[next].rbegin(), launched[next].rend());
    }
  }
  return nodes;
}

// What equal nodes have in common.
Status AppendWork(const Graph& graph, Index i, ProgramOrder::Sizes sizes, std::string& text) {
  auto out = std::back_inserter(text);
  const Actor actor = graph.actor(i);
  std::string parent(graph.parent(i));  // "Forward 3": programs may number micro-batches
  std::erase_if(parent, [](char c) { return c >= '0' && c <= '9'; });
  fmt::format_to(out, "{} {} {} {} {} {} {} {} {}", graph.step(i), Name(graph.type(i)),
                 Name(graph.kind(i)), Name(graph.op_class(i)), Name(actor.kind), actor.id,
                 graph.name(i), graph.op(i), parent);
  if (const CommSpec* const comm = graph.comm(i)) {
    fmt::format_to(out, " {} {} {} {}", Name(comm->kind), comm->group, comm->root, comm->peer);
    if (sizes == ProgramOrder::Sizes::kEqual) {
      fmt::format_to(out, " {} {}", comm->in_bytes, comm->out_bytes);
    }
  }
  if (sizes == ProgramOrder::Sizes::kAny) {
    return {};
  }
  REPRISE_ASSIGN(const OpCall call, graph.Call(i));
  for (const ValueList* const values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* const tensor : TensorsIn(*values)) {
      fmt::format_to(out, " {}[{}]", Name(tensor->dtype), fmt::join(tensor->shape, ","));
    }
    text += ';';
  }
  return {};
}

}  // namespace

void ProgramOrder::FindPieces(const Graph& graph) {
  std::unordered_map<std::int64_t, std::uint32_t> last;  // first piece of each thread's last call
  for (std::uint32_t at = 0; at < nodes.size(); ++at) {
    const Index i = nodes[at];
    main_of.push_back(at);
    if (graph.actor(i).kind == Actor::Kind::kThread) {
      const auto before = last.find(graph.actor(i).id);
      if (before != last.end() && graph.op_class(i) == OpClass::kHost && graph.rf_id(i) >= 0 &&
          graph.rf_id(i) == graph.rf_id(nodes[before->second])) {
        main_of.back() = before->second;
      } else {
        last[graph.actor(i).id] = at;
      }
    }
    if (main_of.back() == at) {
      main.push_back(at);
    }
  }
}

void ProgramOrder::SetApart(const Graph& graph, std::int64_t layers) {
  std::vector<std::int64_t> count(works);
  for (const std::uint32_t place : main) {
    ++count[work[place]];
  }
  const auto is_rare = [&](std::uint32_t place) {
    return graph.comm(nodes[place]) != nullptr && count[work[place]] < layers;
  };
  const auto issues_rare = [&](std::uint32_t place) {  // a call on the host
    return place + 1 < nodes.size() && launched[place + 1] && is_rare(place + 1);
  };
  main.clear();
  for (std::uint32_t place = 0; place < nodes.size(); ++place) {
    const std::uint32_t of = main_of[place];
    const bool is_main = of == place;
    apart[place] = is_main ? is_rare(place) || issues_rare(place) : apart[of];
    if (is_main && !apart[place]) {
      main.push_back(place);
    }
  }
}

void ProgramOrder::Divide(const Graph& graph, std::int32_t step, std::uint32_t from) {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t at = from; at < nodes.size(); ++at) {
    if (graph.step(nodes[at]) == step) {
      const auto [number, is_new] = numbers.try_emplace(work[at], works);
      work[at] = number->second;
      works += is_new ? 1 : 0;
    }
  }
}

Result<ProgramOrder> ProgramOrder::Of(const Graph& graph, Sizes sizes) {
  ProgramOrder order;
  const std::vector<Index> launcher = LaunchersOf(graph);
  order.nodes = InOrder(graph, launcher);
  order.place.resize(graph.size());
  order.work.reserve(order.nodes.size());
  std::unordered_map<std::string, std::uint32_t> numbers;
  std::string text;
  for (std::uint32_t at = 0; at < order.nodes.size(); ++at) {
    order.place[order.nodes[at]] = at;
    order.launched.push_back(launcher[order.nodes[at]] != kNone);
    text.clear();
    REPRISE_TRY(AppendWork(graph, order.nodes[at], sizes, text));
    order.work.push_back(
        numbers.try_emplace(text, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  order.works = static_cast<std::uint32_t>(numbers.size());
  order.FindPieces(graph);
  order.apart.resize(order.nodes.size());
  return order;
}

}  // namespace reprise
