#include <fmt/format.h>

#include <map>

#include "et_schema/graph_impl.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

// What makes no sense in one node alone.
class NodeChecks {
 public:
  NodeChecks(const std::string& path, std::size_t steps) : path_(path), steps_(steps) {}

  void Add(const NodeView& node) {
    if (node.duration_ns < 0) {
      Note(negative_durations_, node);
    }
    if (node.delay_ns < 0) {
      Note(negative_delays_, node);
    }
    if (node.step < -1 || (node.step >= 0 && static_cast<std::size_t>(node.step) >= steps_)) {
      Note(unknown_steps_, node);
    }
    if (node.storage && node.type != NodeType::kStorage) {
      Note(storage_elsewhere_, node);
    }
    if (node.storage && !DetailFitsLevel(*node.storage)) {
      Note(other_level_, node);
    }
    if (node.comm) {
      const std::string_view lacks = LacksOf(*node.comm);
      if (!lacks.empty() && lacks != kLacksGroup) {
        Note(lacking_[lacks], node);
      } else if (node.comm->certainty == GroupCertainty::kUnknown) {
        Note(unknown_groups_, node);
      }
    }
  }

  void Report(ValidationReport& report) const {
    Line(report.errors, negative_durations_, "negative duration");
    Line(report.warnings, negative_delays_, "starts before a dependency ends");
    Line(report.warnings, unknown_steps_, "step that the header does not list");
    Line(report.warnings, unknown_groups_,
         "process group not known for certain (a replay that carries it out refuses it)");
    Line(report.warnings, storage_elsewhere_,
         "storage operation of a node that is not of type storage");
    Line(report.warnings, other_level_, "storage operation of another level than the node names");
    for (const auto& [lacks, finding] : lacking_) {
      Line(report.warnings, finding,
           fmt::format("transfer of unknown {}: it takes its recorded time", lacks));
    }
  }

 private:
  struct Finding {
    std::uint64_t count = 0;
    std::uint64_t first_id = 0;
  };
  static void Note(Finding& finding, const NodeView& node) {
    if (finding.count++ == 0) {
      finding.first_id = node.id;
    }
  }
  void Line(std::vector<std::string>& lines, const Finding& finding, std::string_view what) const {
    if (finding.count > 0) {
      lines.push_back(fmt::format("{}: node {}: {} ({} such nodes)", path_, finding.first_id, what,
                                  finding.count));
    }
  }

  std::string path_;
  std::size_t steps_;
  Finding negative_durations_, negative_delays_, unknown_steps_, unknown_groups_;
  Finding storage_elsewhere_, other_level_;
  std::map<std::string_view, Finding> lacking_;  // by what is unknown
};

// Reads to the end or to the first damage; the rest is judged either way.
void ReadAll(NodeStream& stream, GraphBuilder& builder, NodeChecks& checks,
             ValidationReport& report) {
  NodeView view;
  while (true) {
    const Result<bool> more = stream.Next(view);
    if (!more) {
      report.errors.push_back(more.error().message);
      return;
    }
    if (!*more) {
      return;
    }
    if (const Status added = builder.Add(view); !added) {
      report.errors.push_back(added.error().message);
      return;
    }
    ++report.nodes;
    report.edges += view.deps.size();
    checks.Add(view);
  }
}

}  // namespace

ValidationReport ValidateFile(const std::string& path) {
  ValidationReport report;
  const auto stream = NodeStream::Open(path);
  if (!stream) {
    report.errors.push_back(stream.error().message);
    return report;
  }
  GraphBuilder builder(path);
  NodeChecks checks(path, (*stream)->metadata().steps.size());
  ReadAll(**stream, builder, checks, report);
  auto graph = builder.Finish((*stream)->metadata(), (*stream)->diagnostics(), &report.errors);
  checks.Report(report);
  if (!graph) {
    report.errors.push_back(graph.error().message);
    return report;
  }
  for (const auto& [name, counter] : graph->diagnostics().Snapshot()) {
    report.warnings.push_back(fmt::format("{} ({} times), for example {}", name, counter.count,
                                          fmt::join(counter.examples, "; ")));
  }
  report.graph = std::move(*graph);
  return report;
}

}  // namespace reprise
