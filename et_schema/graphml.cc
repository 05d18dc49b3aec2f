#include <fmt/format.h>

#include <ostream>
#include <string>

#include "core/shown_text.h"
#include "et_schema/graph_text.h"
#include "et_schema/graph_walk.h"

namespace reprise {
namespace {

constexpr std::string_view kHead =
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

}  // namespace

Result<GraphTextSummary> WriteGraphMl(std::span<const Graph* const> graphs,
                                      std::optional<std::int32_t> step, std::ostream& out) {
  GraphTextSummary summary;
  out << kHead;
  for (const Graph* graph : graphs) {
    Walk(
        *graph, step, summary, [&](Graph::Index i) { WriteGraphMlNode(*graph, i, out); },
        [&](Graph::Index i, std::size_t d) {
          out << fmt::format(
              "    <edge source=\"{}\" target=\"{}\"><data key=\"reason\">{}</data>"
              "<data key=\"inferred\">{}</data></edge>\n",
              NodeKey(*graph, graph->deps(i)[d]), NodeKey(*graph, i), Name(graph->reasons(i)[d]),
              graph->inferred(i, d));
        });
  }
  out << "  </graph>\n</graphml>\n";
  out.flush();
  if (!out) {
    return EnvironmentError("the graph could not be written: is the disk full?");
  }
  return summary;
}

}  // namespace reprise
