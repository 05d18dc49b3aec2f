#include "et_schema/graph_text.h"

#include <fmt/format.h>

#include <array>
#include <ostream>
#include <string>

#include "core/shown_text.h"

namespace reprise {
namespace {

std::string NodeKey(const Graph& graph, Graph::Index i) {
  return fmt::format("r{}n{}", graph.metadata().rank, graph.id(i));
}

// "thread 1", "stream 0/7", "group 0".
std::string ActorText(const Graph& graph, Graph::Index i) {
  const Actor actor = graph.actor(i);
  if (const CommSpec* comm = graph.comm(i)) {
    return fmt::format("group {}", comm->group);
  }
  return actor.kind == Actor::Kind::kStream ? fmt::format("stream {}/{}", actor.device, actor.id)
                                            : fmt::format("{} {}", Name(actor.kind), actor.id);
}

// Writes every chosen node, then every edge between two of them.
void Walk(const Graph& graph, std::optional<std::int32_t> step, GraphTextSummary& summary,
          std::ostream& out, void (*node)(const Graph&, Graph::Index, std::ostream&),
          void (*edge)(const Graph&, Graph::Index, std::size_t, std::ostream&)) {
  const auto chosen = [&](Graph::Index i) { return !step || graph.step(i) == *step; };
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (chosen(i)) {
      node(graph, i, out);
      ++summary.nodes;
    }
  }
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    for (std::size_t d = 0; d < graph.deps(i).size(); ++d) {
      const bool inside = chosen(i) && chosen(graph.deps(i)[d]);
      if (inside) {
        edge(graph, i, d, out);
        ++summary.edges;
      } else if (chosen(i) || chosen(graph.deps(i)[d])) {
        ++summary.edges_left_out;
      }
    }
  }
}

Result<GraphTextSummary> FinishGraph(const GraphTextSummary& summary, std::ostream& out) {
  out.flush();
  if (!out) {
    return EnvironmentError("the graph could not be written: is the disk full?");
  }
  return summary;
}

// ---- Graphviz. ----

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

void WriteDotEdge(const Graph& graph, Graph::Index i, std::size_t d, std::ostream& out) {
  const EdgeReason reason = graph.reasons(i)[d];
  const bool order = reason == EdgeReason::kThread || reason == EdgeReason::kStream;
  out << fmt::format(
      "    {} -> {} [reason={}, inferred={}{}{}];\n", NodeKey(graph, graph.deps(i)[d]),
      NodeKey(graph, i), Quoted(Name(reason)), graph.inferred(i, d),
      graph.inferred(i, d) ? ", style=dashed" : "",
      order ? "" : fmt::format(", color=\"#b03030\", label={}", Quoted(Name(reason))));
}

// ---- GraphML. ----

constexpr std::string_view kGraphMlHead =
    R"(<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="name" for="node" attr.name="name" attr.type="string"/>
  <key id="type" for="node" attr.name="type" attr.type="string"/>
  <key id="kind" for="node" attr.name="kind" attr.type="string"/>
  <key id="class" for="node" attr.name="class" attr.type="string"/>
  <key id="actor" for="node" attr.name="actor" attr.type="string"/>
  <key id="rank" for="node" attr.name="rank" attr.type="int"/>
  <key id="step" for="node" attr.name="step" attr.type="int"/>
  <key id="start" for="node" attr.name="start_ns" attr.type="long"/>
  <key id="duration" for="node" attr.name="duration_ns" attr.type="long"/>
  <key id="delay" for="node" attr.name="delay_ns" attr.type="long"/>
  <key id="reason" for="edge" attr.name="reason" attr.type="string"/>
  <key id="inferred" for="edge" attr.name="inferred" attr.type="boolean"/>
  <graph id="trace" edgedefault="directed">
)";

// XML 1.0 has no way to write most control characters; U+FFFE and U+FFFF are no characters there.
std::string Escaped(std::string_view text) {
  const std::string shown = ShownText(text);
  std::string out;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const char c = shown[i];
    const std::string_view three = std::string_view(shown).substr(i, 3);
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (three == "\xEF\xBF\xBE" || three == "\xEF\xBF\xBF") {
      out += "\xEF\xBF\xBD";
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

void WriteGraphMlNode(const Graph& graph, Graph::Index i, std::ostream& out) {
  const auto data = [&out](std::string_view key, const auto& value) {
    out << "<data key=\"" << key << "\">" << value << "</data>";
  };
  out << "    <node id=\"" << NodeKey(graph, i) << "\">";
  data("name", Escaped(graph.name(i)));
  data("type", Name(graph.type(i)));
  data("kind", Name(graph.kind(i)));
  data("class", Name(graph.op_class(i)));
  data("actor", Escaped(ActorText(graph, i)));
  data("rank", graph.metadata().rank);
  data("step", graph.step(i));
  data("start", graph.start_ns(i));
  data("duration", graph.duration_ns(i));
  data("delay", graph.delay_ns(i));
  out << "</node>\n";
}

void WriteGraphMlEdge(const Graph& graph, Graph::Index i, std::size_t d, std::ostream& out) {
  out << fmt::format(
      "    <edge source=\"{}\" target=\"{}\"><data key=\"reason\">{}</data>"
      "<data key=\"inferred\">{}</data></edge>\n",
      NodeKey(graph, graph.deps(i)[d]), NodeKey(graph, i), Name(graph.reasons(i)[d]),
      graph.inferred(i, d));
}

}  // namespace

Result<GraphTextSummary> WriteDot(std::span<const Graph* const> graphs,
                                  std::optional<std::int32_t> step, std::ostream& out) {
  GraphTextSummary summary;
  out << "digraph trace {\n";
  for (const Graph* graph : graphs) {
    const std::int32_t rank = graph->metadata().rank;
    out << fmt::format("  subgraph cluster_rank{} {{\n    label=\"rank {}\";\n", rank, rank);
    Walk(*graph, step, summary, out, WriteDotNode, WriteDotEdge);
    out << "  }\n";
  }
  out << "}\n";
  return FinishGraph(summary, out);
}

Result<GraphTextSummary> WriteGraphMl(std::span<const Graph* const> graphs,
                                      std::optional<std::int32_t> step, std::ostream& out) {
  GraphTextSummary summary;
  out << kGraphMlHead;
  for (const Graph* graph : graphs) {
    Walk(*graph, step, summary, out, WriteGraphMlNode, WriteGraphMlEdge);
  }
  out << "  </graph>\n</graphml>\n";
  return FinishGraph(summary, out);
}

}  // namespace reprise
