// reprise anonymize: a trace set without what identifies, with what a replay needs.
#include "share/anonymize/anonymize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/anonymize_verify.h"
#include "cli/commands.h"
#include "cli/counter_lines.h"
#include "cli/verbose.h"
#include "cli/verified_set.h"
#include "core/shown_text.h"

namespace reprise {

inline void to_json(Json& json, const AnonymizeReport::Rank& of) {
  json = {{"rank", of.rank}, {"ranks_alike", of.alike}, {"path", of.path}, {"nodes", of.nodes}};
}

namespace {

struct AnonymizeFlags {
  std::string input, output, policy = "replay", print_policy, durations, shapes, salt_file, names;
  bool force = false, json = false, verify = false, verify_only = false;
};

Result<AnonymizeRequest> MakeRequest(const AnonymizeFlags& flags) {
  if (flags.input.empty() || flags.output.empty()) {
    return UsageError("give a trace set and the directory to write");
  }
  AnonymizeRequest request{.input_directory = flags.input,
                           .output_directory = flags.output,
                           .salt_file = flags.salt_file,
                           .public_names = flags.names,
                           .force = flags.force};
  REPRISE_ASSIGN(request.policy, Policy::Load(flags.policy));
  if (!flags.durations.empty()) {
    REPRISE_ASSIGN(request.policy.durations, ParseRounding(flags.durations));
  }
  if (!flags.shapes.empty()) {
    REPRISE_ASSIGN(request.policy.shapes, ParseRounding(flags.shapes));
  }
  return request;
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
  return {{"policy", {{"name", request.policy.name}, {"sha256", request.policy.sha256}}},
          {"durations", Name(request.policy.durations)},
          {"shapes", Name(request.policy.shapes)},
          {"ranks", report.ranks},
          {"fields", std::move(fields)},
          {"unknown_dropped", report.unknown.Snapshot()}};
}

void Print(const AnonymizeRequest& request, const AnonymizeReport& report, bool verbose) {
  std::uint64_t nodes = 0;
  std::int64_t ranks = 0;
  for (const AnonymizeReport::Rank& rank : report.ranks) {
    nodes += rank.nodes * static_cast<std::uint64_t>(rank.alike);
    ranks += rank.alike;
    if (verbose) {
      fmt::print("{}: {} nodes\n", ShownText(rank.path), rank.nodes);
    }
  }
  fmt::print("{}: {} ranks, {} nodes\n", request.output_directory, ranks, nodes);
  fmt::print("policy {} ({:.12}), durations {}, shapes {}\n", request.policy.name,
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
    counts.push_back(fmt::format("{} {} values of {} fields", Name(action), values, fields.size()));
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

Result<int> Verify(const AnonymizeFlags& flags) {
  REPRISE_ASSIGN(const auto difference, FirstDifference(flags.input, flags.output));
  if (difference) {
    fmt::print(stderr, "not the same: {}\n", ShownText(*difference));
    return static_cast<int>(ErrorKind::kCheckFailed);
  }
  fmt::print(stderr,
             "the same up to names: graph, times, transfers, groups, kernels, bytes, order\n");
  return 0;
}

Result<int> RunAnonymize(const AnonymizeFlags& flags, bool verbose) {
  if (!flags.print_policy.empty()) {
    REPRISE_ASSIGN(const std::string text, PolicyText(flags.print_policy));
    fmt::print("{}", text);
    return 0;
  }
  REPRISE_ASSIGN(const AnonymizeRequest request, MakeRequest(flags));
  if (flags.verify_only) {
    return Verify(flags);
  }
  REPRISE_TRY(VerifySet(flags.input));
  REPRISE_ASSIGN(const AnonymizeReport report, AnonymizeSet(request));
  if (flags.json) {
    fmt::print("{}\n", ToJson(request, report).dump(1));
  } else {
    Print(request, report, verbose);
  }
  return flags.verify ? Verify(flags) : Result<int>(0);
}

}  // namespace

CommandBody RegisterAnonymize(CLI::App& app, const CommandContext& /*context*/) {
  auto flags = std::make_shared<AnonymizeFlags>();
  app.description("Remove identifying data from a trace set and keep what a replay needs");
  app.add_option("input", flags->input, "trace set");
  app.add_option("-o,--output,output", flags->output, "directory to create");
  app.add_option("--policy", flags->policy,
                 "replay (default), simulate, statistics, or a policy file");
  app.add_option("--print-policy", flags->print_policy, "print the file of a preset and exit");
  app.add_option("--durations", flags->durations,
                 "keep, grid:NS, or scale (by a secret factor); default: as in the policy");
  app.add_option(
      "--shapes", flags->shapes,
      "keep, grid:N, or scale; with grid and scale the replay differs from the original");
  app.add_option(
      "--salt-file", flags->salt_file,
      "file with the salt, created if missing; sets with the same salt get the same names "
      "(default: a random salt that is not stored)");
  app.add_option("--public-names", flags->names, "file with further names to keep");
  app.add_flag("--verify", flags->verify,
               "compare the result with the original; exit 1 if it differs");
  app.add_flag("--verify-only", flags->verify_only,
               "only compare an existing result with the original");
  app.add_flag("--force", flags->force, "replace an output that exists");
  app.add_flag("--json", flags->json, "machine-readable result on stdout");
  return [&app, flags] { return RunAnonymize(*flags, IsVerbose(app)); };
}

}  // namespace reprise
