// reprise compare A B [C…] [-o FILE.html] [--json|--markdown] [--figure F]… [--fail-if EXPR]…
#include "report/compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cli/program/commands.h"
#include "cli/program/common_options.h"
#include "cli/program/given_path.h"
#include "cli/program/show_json.h"
#include "cli/runs/compared_sides.h"
#include "cli/runs/execution.h"
#include "core/shown_text.h"
#include "et_schema/output_file.h"
#include "predict/sweep/figures.h"
#include "report/compare/condition.h"
#include "report/page/html.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

constexpr char kHeatMap[] = "heatmap";

// A comparison as the user asks for it.
struct CompareRequest {
  std::vector<GivenSide> sides;
  std::vector<std::string> allow;
  std::vector<Condition> conditions;
  std::vector<std::string> figures;  // on the page in place of the comparison
  bool any_job = false;              // the figures are a sweep's: sides need not be of one job
  std::string output;                // page; empty: none
  bool json = false, markdown = false, quiet = false, force = false;
};

struct CompareFlags {
  std::vector<std::string> sides, conditions;  // as typed
  CompareRequest request;
};

// Figures of layouts or batches compare runs of different traces.
bool AreOfSeveralJobs(const std::vector<std::string>& figures) {
  return std::ranges::any_of(figures, [](const auto& figure) { return figure != kHeatMap; });
}

Status CheckRequest(const CompareRequest& flags) {
  if (flags.sides.size() < 2 && flags.any_job) {
    return UsageError(
        "compare: one side has no figure of several; give two or more, or the directory of a "
        "sweep");
  }
  for (const GivenSide& side : flags.sides) {
    const auto traces = std::ranges::count_if(side.paths, IsTrace);
    if (traces != 0 && std::cmp_not_equal(traces, side.paths.size())) {
      return UsageError(fmt::format(
          "compare: {}: repeats are runs or trace sets, not both; give each kind a side of its own",
          side.label));
    }
  }
  if (flags.json && flags.markdown) {
    return UsageError("compare: --json and --markdown are both the whole output; give one");
  }
  if (!flags.figures.empty() && flags.output.empty()) {
    return UsageError("compare: --figure draws on a page: give its name with -o FILE.html");
  }
  if (!flags.output.empty() && !flags.output.ends_with(".html")) {
    return UsageError(fmt::format(
        "compare: -o {}: the page is written as HTML, so the name must end in .html; for JSON or "
        "Markdown use --json or --markdown > FILE",
        flags.output));
  }
  if (flags.output.empty() && (flags.quiet || flags.force)) {
    return UsageError("compare: --quiet and --force go with -o FILE.html");
  }
  return {};
}

// Those that were allowed; an error for the rest.
Result<std::vector<Incomparable>> CheckComparable(const std::vector<ComparedSide>& sides,
                                                  const CompareRequest& request) {
  std::set<std::string> allowed(request.allow.begin(), request.allow.end());
  if (request.any_job) {
    allowed.insert({"trace", "part", "coverage"});
  }
  std::vector<Incomparable> passed;
  std::set<std::string> refused;
  std::string text;
  for (Incomparable& reason : FindIncomparable(sides)) {
    if (reason.expected || allowed.contains(reason.key)) {
      passed.push_back(std::move(reason));
    } else {
      text += fmt::format("\n  {}: {}", reason.key, reason.why);
      refused.insert(reason.key);
    }
  }
  if (!refused.empty()) {
    const std::string sets =
        refused.contains("trace") && !AreAligned(sides)
            ? "\nTwo versions of a job: compare their trace sets, which need no replay"
            : "";
    return BadInput(
        fmt::format("these runs are not comparable:{}{}\nTo compare them all the same: "
                    "--allow {}",
                    text, sets, fmt::join(refused, ",")));
  }
  return passed;
}

// A sweep's rows in place of runs.
Result<int> DrawSweep(const std::string& directory, const CompareRequest& flags, bool conditions) {
  if (flags.markdown || conditions || !flags.allow.empty()) {
    return UsageError("compare: of a sweep there are --figure, -o and --json");
  }
  if (!flags.output.ends_with(".html") && !flags.json) {
    return UsageError("compare: figures of a sweep are drawn on a page: give -o FILE.html");
  }
  REPRISE_ASSIGN(const std::string data, ReadSweepFigures(directory, flags.figures));
  if (!flags.output.empty()) {
    REPRISE_ASSIGN(OutputFile page, OutputFile::Create(flags.output, flags.force));
    page.stream() << HtmlPage(data, PageKind::kComparison);
    REPRISE_TRY(page.Commit());
  }
  if (flags.json) {
    fmt::print("{}", ShownJson(data));
  }
  return 0;
}

// Of sides of one trace the reports say all; others are aligned, operation by operation.
Result<std::vector<ComparedSide>> ReadRequested(const CompareRequest& request) {
  const bool one = request.sides.size() == 1;
  const bool any_set = std::ranges::any_of(request.sides, [](const GivenSide& side) {
    return std::ranges::any_of(side.paths, IsTrace);
  });
  if (any_set && !one && !request.any_job) {
    REPRISE_ASSIGN(std::vector<ComparedSide> sides, ReadSides(request.sides, ReadOf::kCommon));
    AlignSides(sides);
    return sides;
  }
  const bool ranks = any_set || (one && request.figures.empty());
  return ReadSides(request.sides, ranks ? ReadOf::kOperations : ReadOf::kReports);
}

// What a comparison found, as far as the user asks for it.
struct ShownComparison {
  std::string page;                     // HTML
  std::string text;                     // for stdout
  std::vector<std::string> violations;  // conditions that hold
};

Result<ShownComparison> Show(const CompareRequest& request, bool verbose) {
  REPRISE_ASSIGN(const std::vector<ComparedSide> sides, ReadRequested(request));
  REPRISE_ASSIGN(const std::vector<Incomparable> allowed, CheckComparable(sides, request));
  const Comparison comparison = Compare(sides, allowed);
  ShownComparison shown;
  REPRISE_ASSIGN(shown.violations, FindViolations(request.conditions, sides, comparison));
  const auto json = [&](bool timelines) {
    return ComparisonJson(sides, comparison, request.figures, timelines);
  };
  shown.page = request.output.empty() ? "" : HtmlPage(json(true), PageKind::kComparison);
  shown.text = request.json       ? json(false)
               : request.markdown ? ComparisonMarkdown(sides, comparison)
               : request.quiet    ? ""
                                  : ShownStyledLines(ComparisonText(
                                        sides, comparison, isatty(STDOUT_FILENO) == 1, verbose));
  return shown;
}

Result<int> RunCompare(CompareFlags& given, bool verbose) {
  CompareRequest& request = given.request;
  if (given.sides.size() == 1 && FindPathKind(given.sides.front()) == PathKind::kSweep) {
    return DrawSweep(given.sides.front(), request, !given.conditions.empty());
  }
  request.sides = ParseSides(given.sides);
  request.any_job = AreOfSeveralJobs(request.figures);
  REPRISE_TRY(CheckRequest(request));
  for (const std::string& text : given.conditions) {
    REPRISE_ASSIGN(std::vector<Condition> parsed, ParseConditions(text));
    request.conditions.insert(request.conditions.end(), parsed.begin(), parsed.end());
  }
  std::optional<OutputFile> page;
  if (!request.output.empty()) {
    REPRISE_ASSIGN(page, OutputFile::Create(request.output, request.force));
  }
  REPRISE_ASSIGN(const ShownComparison shown, Show(request, verbose));
  if (page) {
    page->stream() << shown.page;
    REPRISE_TRY(page->Commit());
  }
  fmt::print("{}", request.json ? ShownJson(shown.text) : shown.text);
  for (const std::string& violation : shown.violations) {
    fmt::print(stderr, "reprise: compare: {}\n", ShownText(violation));
  }
  return shown.violations.empty() ? 0 : 1;
}

}  // namespace

CommandBody RegisterCompare(CLI::App& app, const CommandContext& /*context*/) {
  auto flags = std::make_shared<CompareFlags>();
  CompareRequest& request = flags->request;
  std::vector<std::string> figures(kSweepFigures.begin(), kSweepFigures.end());
  figures.emplace_back(kHeatMap);
  app.description(
      "Compare runs, captures (trace sets), or the ranks of one: time, energy, power, temperature, "
      "and where they differ");
  app.add_option(
         "RUN", flags->sides,
         "two or more: RUN, LABEL=RUN, LABEL=RUN,RUN,… (repeats), or a directory of repeats; "
         "the first is the baseline. LABEL=SET or LABEL=SET,SET,…: trace sets, whose "
         "operations are aligned with those of the other sides, which may be runs. One SET or RUN: "
         "its ranks. The directory of a sweep: figures of its configurations")
      ->required()
      ->type_name("[LABEL=]RUN|SET[,…]");
  app.add_flag("--json", request.json, "one JSON object instead of text");
  app.add_flag("--markdown", request.markdown, "Markdown instead of text");
  app.add_option("-o,--output", request.output,
                 "also write one HTML page with charts, which needs no network")
      ->type_name("FILE.html");
  app.add_option("--figure", request.figures,
                 "show this figure on the page instead; the runs may have different traces")
      ->check(CLI::IsMember(figures))
      ->allow_extra_args(false);
  app.add_option(
         "--fail-if", flags->conditions,
         "exit 1 if a condition on ratios to the baseline holds: 'time>1.05', 'energy.low>1', "
         "'class.gemm>1.1 || temperature.value>85'")
      ->allow_extra_args(false)
      ->type_name("EXPR");
  app.add_option("--allow", request.allow, "compare runs that differ in these")
      ->delimiter(',')
      ->check(CLI::IsMember({"trace", "part", "mode", "coverage", "iterations"}))
      ->allow_extra_args(false);
  app.add_flag("--quiet", request.quiet, "with -o: print no text");
  app.add_flag("--force", request.force, "with -o: replace the file");
  return [&app, flags] { return RunCompare(*flags, IsVerbose(app)); };
}

}  // namespace reprise
