#include "cli/program/part_flags.h"

#include <filesystem>

#include "et_schema/trace_set.h"
#include "replayer/plan/option_texts.h"

namespace reprise {

void AddPartFlags(CLI::App& app, PartFlags& flags) {
  const std::string others = app.option_defaults()->get_group();
  app.option_defaults()->group("Replay a part of the trace set (docs/parts.md)");
  auto* const ranks = app.add_option(
      "--ranks", flags.ranks, "recorded ranks to replay, e.g. 0-3,6; start as many processes");
  flags.one_trace_option =
      app.add_option(
             "--one-trace", flags.one_trace,
             "all processes replay the same recorded rank (default: the lowest), as in data "
             "parallelism")
          ->type_name("[RANK]")
          ->expected(0, 1)
          ->excludes(ranks);
  app.add_option(
         "--group-sizes", flags.group_sizes,
         "collectives of groups with fewer or more members: keep the recorded size (default "
         "with --ranks), or scale it with the members (default with --one-trace)")
      ->check(CLI::IsMember({"keep", "scale"}));
  app.add_option("--steps", flags.steps, "recorded steps to replay, counted from 0, e.g. 0,2-3");
  app.add_option(
      "--range", flags.range,
      "NAME or NAME:K: replay a marked range (record_function): every occurrence, or the "
      "K-th from 0; `reprise stats` lists the ranges");
  app.add_option("--streams", flags.streams,
                 "device streams to execute, e.g. 0/7; the others take their recorded time");
  app.option_defaults()->group(others);
}

Status InterpretPart(const PartFlags& flags, const std::string& set, PlanOptions& options) {
  PartOptions& part = options.part;
  if (!flags.ranks.empty()) {
    REPRISE_ASSIGN(part.ranks, ParseNumbers(flags.ranks, "--ranks"));
  }
  part.one_trace = flags.one_trace_option != nullptr && flags.one_trace_option->count() > 0;
  if (!flags.one_trace.empty()) {
    REPRISE_ASSIGN(const auto rank, ParseNumbers(flags.one_trace, "--one-trace"));
    if (rank.size() != 1) {
      return UsageError("--one-trace: expected one rank");
    }
    part.trace_rank = rank.front();
  }
  std::error_code error;
  if (part.ranks.empty() && !part.one_trace && std::filesystem::is_regular_file(set, error)) {
    REPRISE_ASSIGN(const TraceSet one, TraceSet::OpenPresent(set));
    part.ranks = one.Ranks();
  }
  if (!flags.group_sizes.empty()) {
    part.group_sizes = flags.group_sizes == "scale" ? GroupSizes::kScale : GroupSizes::kKeep;
  }
  if (!flags.steps.empty()) {
    REPRISE_ASSIGN(part.steps, ParseNumbers(flags.steps, "--steps"));
  }
  part.range = flags.range;
  if (!flags.streams.empty()) {
    REPRISE_TRY(ParseStreams(flags.streams, options));
  }
  return {};
}

}  // namespace reprise
