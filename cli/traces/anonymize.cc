// reprise anonymize: a trace set without what identifies, with what a replay needs.
#include "converters/share/anonymize/anonymize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>

#include "cli/program/commands.h"
#include "cli/program/common_options.h"
#include "cli/program/replay_parts.h"
#include "cli/program/show_json.h"
#include "cli/traces/counter_lines.h"
#include "cli/traces/resumed_text.h"
#include "converters/share/anonymize/set_comparison.h"
#include "core/counted.h"
#include "core/shown_text.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/plan.h"

namespace reprise {

inline void to_json(Json& json, const AnonymizeReport::Rank& of) {
  json = {{"rank", of.rank}, {"ranks_alike", of.alike}, {"path", of.path}, {"nodes", of.nodes}};
}

namespace {

struct AnonymizeFlags {
  AnonymizeRequest request;
  std::string policy = "replay", print_policy, durations, shapes;
  bool json = false, verify = false, verify_only = false;
};

Status Interpret(AnonymizeFlags& flags) {
  AnonymizeRequest& request = flags.request;
  if (request.input_directory.empty() || request.output_directory.empty()) {
    return UsageError("give a trace set and the directory to write");
  }
  if (request.resume && request.salt_file.empty()) {
    return UsageError(
        "--resume needs --salt-file: with a random salt the ranks of two runs have other names");
  }
  REPRISE_ASSIGN(request.policy, Policy::Load(flags.policy));
  if (!flags.durations.empty()) {
    REPRISE_ASSIGN(request.policy.durations, ParseRounding(flags.durations));
  }
  if (!flags.shapes.empty()) {
    REPRISE_ASSIGN(request.policy.shapes, ParseRounding(flags.shapes));
  }
  return {};
}

Json ToJson(const AnonymizeRequest& request, const AnonymizeReport& report) {
  Json fields = Json::object();
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto field = static_cast<Field>(i);
    Json& counts = fields[std::string(Name(field))] = Json::object();
    for (const Action action : {Action::kKeep, Action::kMap, Action::kCoarsen, Action::kDrop}) {
      counts[std::string(Name(action))] = report.fields.Of(field, action);
    }
  }
  Json json = {{"policy", {{"name", request.policy.name}, {"sha256", request.policy.sha256}}},
               {"durations", Name(request.policy.durations)},
               {"shapes", Name(request.policy.shapes)},
               {"ranks", report.ranks},
               {"fields", std::move(fields)},
               {"unknown_dropped", report.unknown.Snapshot()}};
  if (report.resumed) {
    json["resumed"] = *report.resumed;
  }
  return json;
}

void Print(const AnonymizeRequest& request, const AnonymizeReport& report, bool verbose) {
  std::uint64_t nodes = 0;
  std::int64_t ranks = 0;
  for (const AnonymizeReport::Rank& rank : report.ranks) {
    nodes += rank.nodes * static_cast<std::uint64_t>(rank.alike);
    ranks += rank.alike;
    if (verbose) {
      fmt::print("{}: {}\n", ShownText(rank.path), Counted(rank.nodes, "node"));
    }
  }
  fmt::print("{}: {}, {}\n", ShownText(request.output_directory), Counted(ranks, "rank"),
             Counted(nodes, "node"));
  if (report.resumed) {
    fmt::print("{}\n", ResumedText(*report.resumed));
  }
  fmt::print("policy {} ({:.12}), durations {}, shapes {}\n", ShownText(request.policy.name),
             request.policy.sha256, Name(request.policy.durations), Name(request.policy.shapes));
  std::vector<std::string> counts;
  for (const Action action : {Action::kKeep, Action::kMap, Action::kCoarsen, Action::kDrop}) {
    std::vector<std::string> fields;
    std::uint64_t values = 0;
    for (std::size_t i = 0; i < kFieldCount; ++i) {
      const auto field = static_cast<Field>(i);
      if (const std::uint64_t count = report.fields.Of(field, action); count > 0) {
        fields.push_back(fmt::format("{} {}", Name(field), count));
        values += count;
      }
    }
    counts.push_back(fmt::format("{} {} of {}", Name(action), Counted(values, "value"),
                                 Counted(fields.size(), "field")));
    if (verbose) {
      fmt::print("{}: {}\n", Name(action),
                 fields.empty() ? "-" : fmt::format("{}", fmt::join(fields, ", ")));
    }
  }
  if (!verbose) {
    fmt::print("{}; -v lists the fields\n", fmt::join(counts, ", "));
  }
  for (const auto& [name, counter] : report.unknown.Snapshot()) {
    fmt::print("dropped, not known: {}, {} times{}\n", ShownText(name), counter.count,
               counter.examples.empty() ? "" : ", e.g. " + counter.examples.front());
  }
}

using DifferenceFound = std::optional<std::string>;

bool SameWork(const Work& a, const Work& b) {
  return a.type == b.type && a.mode == b.mode && a.kernel == b.kernel && a.actor == b.actor &&
         a.cost.flops == b.cost.flops && a.cost.bytes == b.cost.bytes && a.gap_ns == b.gap_ns &&
         a.host_ns == b.host_ns && a.step == b.step && a.joins == b.joins &&
         a.releases == b.releases && a.counts == b.counts && a.alone == b.alone;
}

Result<DifferenceFound> PlansDiffer(const Graph& a, const Graph& b) {
  const FindKernel kernels = PartsOfReplay().find_kernel;
  PlanOptions options;
  options.assume_groups = true;
  REPRISE_ASSIGN(const Plan plan_a, BuildPlan(a, options, kernels));
  REPRISE_ASSIGN(const Plan plan_b, BuildPlan(b, options, kernels));
  const std::int32_t rank = a.metadata().rank;
  for (Graph::Index i = 0; i < a.size(); ++i) {
    if (!SameWork(plan_a.work[i], plan_b.work[i])) {
      return DifferenceFound(
          fmt::format("rank {}: node {} ({}) and node {} are planned differently", rank, a.id(i),
                      a.name(i), b.id(i)));
    }
  }
  if (plan_a.transfers != plan_b.transfers) {
    return DifferenceFound(fmt::format("rank {}: transfers are issued in another order", rank));
  }
  if (plan_a.deps != plan_b.deps || plan_a.dep_offset != plan_b.dep_offset ||
      plan_a.frame != plan_b.frame) {
    return DifferenceFound(fmt::format("rank {}: the plans' dependencies or ends differ", rank));
  }
  return DifferenceFound();
}

// Of the graphs, or of what the replay plans from them: kernels, costs, gaps, actors, order of
// transfers. Two ranks in memory at a time.
Result<DifferenceFound> FirstDifference(const std::string& original, const std::string& result) {
  REPRISE_ASSIGN(const TraceSet a, TraceSet::OpenPresent(original));
  REPRISE_ASSIGN(const TraceSet b, TraceSet::OpenPresent(result));
  SetComparison comparison;
  if (DifferenceFound difference = comparison.Groups(a, b)) {
    return difference;
  }
  for (const TraceSet::DistinctRank& one : a.DistinctRanks()) {
    REPRISE_ASSIGN(const Graph graph_a, Graph::Load(one.path));
    REPRISE_ASSIGN(const Graph graph_b, Graph::Load(b.RankPath(one.rank)));
    REPRISE_ASSIGN(DifferenceFound difference, comparison.Rank(graph_a, graph_b));
    if (!difference) {
      REPRISE_ASSIGN(difference, PlansDiffer(graph_a, graph_b));
    }
    if (difference) {
      return difference;
    }
  }
  return DifferenceFound();
}

Result<int> Verify(const AnonymizeRequest& request) {
  REPRISE_ASSIGN(const auto difference,
                 FirstDifference(request.input_directory, request.output_directory));
  if (difference) {
    fmt::print(stderr, "not the same: {}\n", ShownText(*difference));
    return static_cast<int>(ErrorKind::kCheckFailed);
  }
  fmt::print(stderr,
             "the same up to names: graph, times, transfers, groups, kernels, bytes, order\n");
  return 0;
}

Result<int> RunAnonymize(AnonymizeFlags& flags, bool verbose, Processes& processes) {
  flags.request.processes = &processes;
  const AnonymizeRequest& request = flags.request;
  if (!flags.print_policy.empty()) {
    REPRISE_ASSIGN(const std::string text, PolicyText(flags.print_policy));
    fmt::print("{}", text);
    return 0;
  }
  REPRISE_TRY(Interpret(flags));
  const bool first = processes.first();  // compares and prints
  if (flags.verify_only) {
    return first ? Verify(request) : Result<int>(0);
  }
  if (first) {
    REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.input_directory));
    REPRISE_TRY(set.Verify());
  }
  REPRISE_ASSIGN(const AnonymizeReport report, AnonymizeSet(request));
  if (!first) {
    return 0;
  }
  if (flags.json) {
    ShowJson(ToJson(request, report), 1);
  } else {
    Print(request, report, verbose);
  }
  return flags.verify ? Verify(request) : Result<int>(0);
}

}  // namespace

CommandBody RegisterAnonymize(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<AnonymizeFlags>();
  AnonymizeRequest& request = flags->request;
  app.description("Remove identifying data from a trace set and keep what a replay needs");
  app.add_option("SET", request.input_directory, "trace set");
  app.add_option("-o,--output,OUTPUT", request.output_directory, "directory to create");
  app.add_option("--policy", flags->policy,
                 "replay (default), simulate, statistics, or a policy file");
  app.add_option("--print-policy", flags->print_policy, "print the file of a preset and exit");
  app.add_option("--durations", flags->durations,
                 "keep, grid:NS, or scale (by a secret factor); default: as in the policy");
  app.add_option(
      "--shapes", flags->shapes,
      "keep, grid:N, or scale; with grid and scale the replay differs from the original");
  app.add_option(
      "--salt-file", request.salt_file,
      "file with the salt, created if missing; sets with the same salt get the same names "
      "(default: a random salt that is not stored)");
  app.add_option("--public-names", request.public_names, "file with further names to keep");
  app.add_flag("--verify", flags->verify,
               "compare the result with the original; exit 1 if it differs");
  app.add_flag("--verify-only", flags->verify_only,
               "only compare an existing result with the original");
  app.add_flag("--force", request.force, "replace an output that exists");
  AddResumeFlag(app, request.resume);
  app.add_flag("--json", flags->json, "machine-readable result on stdout");
  return
      [&app, &context, flags] { return RunAnonymize(*flags, IsVerbose(app), *context.processes); };
}

}  // namespace reprise
