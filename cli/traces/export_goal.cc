#include "cli/traces/export_goal.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <utility>

#include "converters/goal/schedule.h"
#include "core/counted.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "et_schema/output_file.h"
#include "predict/goal/jobs.h"
#include "predict/goal/transfers.h"
#include "replayer/plan/option_texts.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

Status CheckDirectory(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return {};
  }
  if (!fs::exists(path, error)) {
    return BadInput(fmt::format("{}: no such file or directory", ShownText(path)));
  }
  return UsageError(fmt::format("{}: --to goal takes directories of trace sets", ShownText(path)));
}

// "0@0-7": the set's number among those given, and a node for each of its ranks.
Status Place(const std::string& text, std::vector<GoalJob>& jobs) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos) {
    return UsageError(fmt::format("--place {}: expected JOB@NODES, as 0@0-7", ShownText(text)));
  }
  REPRISE_ASSIGN(const std::vector<std::int32_t> number,
                 ParseNumbers(std::string_view(text).substr(0, at), "--place"));
  if (number.size() != 1 || static_cast<std::size_t>(number.front()) >= jobs.size()) {
    return UsageError(fmt::format("--place {}: there is {}, numbered from 0", ShownText(text),
                                  Counted(jobs.size(), "set")));
  }
  GoalJob& job = jobs[static_cast<std::size_t>(number.front())];
  if (!job.nodes.empty()) {
    return UsageError(
        fmt::format("--place {}: set {} has a place already", ShownText(text), number.front()));
  }
  REPRISE_ASSIGN(job.nodes, ParseNumbers(std::string_view(text).substr(at + 1), "--place"));
  return {};
}

Result<std::vector<GoalJob>> PlacedJobs(const GoalExport& request, const GoalFlags& flags) {
  std::vector<GoalJob> jobs;
  for (const std::string& set : request.sets) {
    REPRISE_TRY(CheckDirectory(set));
    jobs.push_back({.set_directory = set});
  }
  for (const std::string& text : flags.place) {
    REPRISE_TRY(Place(text, jobs));
  }
  if (!flags.place.empty() && flags.place.size() != jobs.size()) {
    return UsageError(fmt::format("--place is there for {} of {} sets; give one for each, or none",
                                  flags.place.size(), jobs.size()));
  }
  return jobs;
}

Result<GoalRequest> RequestOf(const GoalExport& request, const GoalFlags& flags) {
  GoalRequest wanted;
  MachineRequest machine = flags.machine;
  if (machine.machine.empty()) {
    machine.machine = "recorded";
  }
  REPRISE_ASSIGN(wanted.machine, TargetMachine::Create(machine));
  if (!request.ranks.empty()) {
    REPRISE_ASSIGN(wanted.plan.part.ranks, ParseNumbers(request.ranks, "--ranks"));
  }
  if (request.step) {
    wanted.plan.part.steps = {*request.step};
  }
  wanted.plan.default_op_mode = wanted.plan.default_comm_mode = ReplayMode::kTimed;
  REPRISE_TRY(ParseHostGaps(request.host_gaps, wanted.plan));
  REPRISE_ASSIGN(wanted.options.algorithms, GoalAlgorithms(flags.algo));
  wanted.options.cpus = flags.cpus == "one" ? GoalCpus::kOne : GoalCpus::kStreams;
  constexpr std::uint64_t kMostMessages = 50'000'000;
  wanted.options.most_messages =
      request.all ? std::numeric_limits<std::int64_t>::max() : kMostMessages;
  return wanted;
}

void PrintGoalReport(const GoalReport& report) {
  fmt::print("{} on {}, at most {} each; {}, {} of {} bytes, {}\n", Counted(report.ranks, "rank"),
             Counted(report.nodes, "node"), Counted(report.cpus, "cpu"),
             Counted(report.calcs, "calc"), Counted(report.messages, "message"),
             report.message_bytes, Counted(report.edges, "edge"));
  for (const auto& [what, count] : report.expanded) {
    fmt::print("  {} × {}\n", count, what);
  }
  for (const auto& [reason, count] : report.timed) {
    fmt::print("note: {} {} stay calculations of their time\n", Counted(count, "transfer"), reason);
  }
  if (report.padded > 0) {
    fmt::print("note: {} without data are written with 1 byte\n",
               Counted(report.padded, "message"));
  }
  if (report.negative_delays > 0) {
    fmt::print("note: {} began before what they wait for had ended; they begin after it here\n",
               Counted(report.negative_delays, "node"));
  }
  if (report.crowded > 0) {
    fmt::print("note: {} share a cpu with what ran at the same time: a rank has {} cpus\n",
               Counted(report.crowded, "operation"), goal::kMostCpus);
  }
  fmt::print("by Reprise's own simulation {:.3f} ms (modelled)\n",
             static_cast<double>(report.simulated_ns) / 1e6);
}

}  // namespace

void AddGoalOptions(CLI::App& app, GoalFlags& flags) {
  const std::string others = app.option_defaults()->get_group();
  app.option_defaults()->group("GOAL");
  app.add_option("--machine", flags.machine.machine,
                 "machine whose model says what operations take: name (`reprise list machines`) or "
                 "file; sets without recorded times need it (default: recorded times)");
  app.add_option("--set", flags.machine.overrides,
                 "another value of a number of --machine: PATH=VALUE[UNIT]")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option(
         "--algo", flags.algo,
         "algorithm of collectives: [KIND[@GROUP]=]NAME[,chunk=SIZE][,channels=N][,node=N], "
         "also from=SIZE; `reprise list algorithms` lists them (default: docs/guides/"
         "simulators.md)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--cpus", flags.cpus,
                 "streams: threads, streams and transfers of a rank have cpus of their own; one: a "
                 "rank does one operation at a time")
      ->check(CLI::IsMember({"streams", "one"}))
      ->capture_default_str();
  app.add_option("--place", flags.place,
                 "JOB@NODES: nodes of the ranks of a set, which are numbered from 0 in the order "
                 "given; once for each set (default: one set after the other)")
      ->take_all()
      ->allow_extra_args(false);
  app.option_defaults()->group(others);
}

Status ExportGoal(const GoalExport& request, const GoalFlags& flags) {
  if (!request.text && (request.output.ends_with(".gz") || request.output.ends_with(".zst"))) {
    return UsageError(
        "LogGOPSim maps the file into memory and reads none that is compressed; name it otherwise, "
        "or give --to goal-text");
  }
  REPRISE_ASSIGN(const std::vector<GoalJob> jobs, PlacedJobs(request, flags));
  REPRISE_ASSIGN(const GoalRequest wanted, RequestOf(request, flags));
  REPRISE_ASSIGN(OutputFile file, OutputFile::Create(request.output, request.force));
  GoalReport report;
  REPRISE_ASSIGN(const goal::RankSchedules nodes, GoalOfJobs(wanted, jobs, report));
  if (request.text) {
    goal::WriteText(nodes, file.stream());
  } else {
    goal::WriteBinary(nodes, file.stream());
  }
  REPRISE_TRY(file.Commit());
  PrintGoalReport(report);
  const std::string output = ShownText(request.output);
  fmt::print("wrote {}; run it with\n  {}LogGOPSim -f {}\n", output,
             request.text ? fmt::format("txt2bin -i {0} -o {0}.bin && ", output) : "",
             request.text ? output + ".bin" : output);
  if (report.cpus > 1) {
    fmt::print(
        "note: the LogGOPSim of ATLAHS; that of spcl/LogGOPSim takes no time from one cpu to "
        "another: for it, give --cpus one\n");
  }
  return {};
}

}  // namespace reprise
