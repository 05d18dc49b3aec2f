#include <fmt/format.h>

#include <array>
#include <ostream>
#include <string>

#include "core/shown_text.h"
#include "et_schema/graph_text.h"
#include "et_schema/graph_walk.h"

namespace reprise {
namespace {

// Inside a quoted string that Graphviz reads as a label: there the backslash begins an escape and
// `&` an HTML entity.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : ShownText(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string DurationText(std::int64_t ns) {
  constexpr std::array kUnits = {"ns", "us", "ms", "s"};
  auto value = static_cast<double>(ns);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) {
    value /= 1000;
  }
  return fmt::format("{:.4g} {}", value, kUnits.at(unit));
}

// Transfers and waits stand out; all other nodes are shown by class.
std::string_view StyleOf(const Graph& graph, Graph::Index i) {
  if (graph.comm(i) != nullptr) {
    return "shape=box, style=filled, fillcolor=\"#f6c667\"";
  }
  if (graph.kind(i) == OpKind::kWait) {
    return "shape=box, style=\"rounded,dashed\"";
  }
  return graph.actor(i).kind == Actor::Kind::kStream
             ? "shape=box, style=filled, fillcolor=\"#bfe3b4\""
             : "shape=box, style=rounded";
}

void WriteDotNode(const Graph& graph, Graph::Index i, std::ostream& out) {
  const std::string name = Quoted(graph.name(i));
  // The label is the quoted name with a second line before its closing quote.
  out << fmt::format(
      "    {} [label={}\\n{}\", {}, name={}, type={}, kind={}, op_class={}, actor={}, "
      "start_ns={}, duration_ns={}];\n",
      NodeKey(graph, i), std::string_view(name).substr(0, name.size() - 1),
      DurationText(graph.duration_ns(i)), StyleOf(graph, i), name, Quoted(Name(graph.type(i))),
      Quoted(Name(graph.kind(i))), Quoted(Name(graph.op_class(i))), Quoted(ActorText(graph, i)),
      graph.start_ns(i), graph.duration_ns(i));
}

void WriteEdge(const Graph& graph, Graph::Index i, std::size_t d, std::ostream& out) {
  const EdgeReason reason = graph.reasons(i)[d];
  const bool order = reason == EdgeReason::kThread || reason == EdgeReason::kStream;
  out << fmt::format(
      "    {} -> {} [reason={}, inferred={}{}{}];\n", NodeKey(graph, graph.deps(i)[d]),
      NodeKey(graph, i), Quoted(Name(reason)), graph.inferred(i, d),
      graph.inferred(i, d) ? ", style=dashed" : "",
      order ? "" : fmt::format(", color=\"#b03030\", label={}", Quoted(Name(reason))));
}

}  // namespace

Result<GraphTextSummary> WriteDot(std::span<const Graph* const> graphs,
                                  std::optional<std::int32_t> step, std::ostream& out) {
  GraphTextSummary summary;
  out << "digraph trace {\n";
  for (const Graph* graph : graphs) {
    const std::int32_t rank = graph->metadata().rank;
    out << fmt::format("  subgraph cluster_rank{} {{\n    label=\"rank {}\";\n", rank, rank);
    Walk(
        *graph, step, summary, [&](Graph::Index i) { WriteDotNode(*graph, i, out); },
        [&](Graph::Index i, std::size_t d) { WriteEdge(*graph, i, d, out); });
    out << "  }\n";
  }
  out << "}\n";
  out.flush();
  if (!out) {
    return EnvironmentError("the graph could not be written: is the disk full?");
  }
  return summary;
}

}  // namespace reprise
