#include "report/text/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

#include "core/kernel_origin.h"
#include "core/text.h"
#include "core/text_in.h"
#include "core/unknown_work.h"
#include "report/text/odd_values.h"
#include "report/text/table.h"
#include "report/text/verdict_warnings.h"
#include "report/values/report.h"

namespace reprise {
namespace {

// Option "machine" of a capture simulated on its own.
constexpr std::string_view kOwnMachine = "recorded";
// Below this, step times count as equal.
constexpr double kEqualRatio = 0.02;
// Of the difference: a smaller cause is not worth a sentence.
constexpr double kMinShare = 0.2;
// Of a step: a smaller part of it is not worth a name.
constexpr double kLeastShown = 0.02;
// Of the job's step: smaller differences that cancel are not worth one either.
constexpr double kMinCancelling = 0.15;
// Causes that are no operation.
constexpr char kPauses[] = "pauses and waits between operations";
constexpr char kTransfers[] = "transfers";

std::string ThreadsText(const std::string& threads) {
  return threads.empty() ? "" : threads + (threads == "1" ? " thread" : " threads");
}

// Where the job was recorded, as far as that differs from where it was replayed.
std::string RecordedWhere(const Machine& recorded, const Machine& replayed) {
  const bool other_device = !recorded.device.empty() && recorded.device != replayed.device;
  if (other_device && recorded.device != "cpu") {
    return "on " + Fit(recorded.device, 40);
  }
  if (recorded.processor.empty()) {
    return "on an unknown machine";
  }
  if (other_device || recorded.processor != replayed.processor) {
    return "on " + Fit(recorded.processor, 50);
  }
  return fmt::format("with {} a rank, here {}", ThreadsText(recorded.threads), replayed.threads);
}

struct Cause {
  std::string name;
  std::int64_t recorded_ns = 0, replayed_ns = 0;
  [[nodiscard]] std::int64_t ApartNs() const { return replayed_ns - recorded_ns; }
};

// Operations, transfers as one, and what is between them; all ranks and recorded steps together.
std::vector<Cause> FindCauses(const Report& report, const Verdict& verdict) {
  std::map<std::string, Cause> by_name;
  for (const ShapeRow& row : report.shapes) {
    Cause& cause = by_name[row.name];
    cause.name = row.name;
    cause.recorded_ns += ComparedNs(verdict, row.recorded_ns, row.tracing_ns);
    cause.replayed_ns += row.replayed_ns;
  }
  std::vector<Cause> causes;
  causes.reserve(by_name.size() + 1);
  for (auto& [name, cause] : by_name) {
    causes.push_back(std::move(cause));
  }
  Cause rest{.recorded_ns = *verdict.job_ns * RankSteps(report),
             .replayed_ns = *verdict.replayed_ns * RankSteps(report)};
  for (const ClassRow& row : report.classes) {
    const std::int64_t recorded_ns = ComparedNs(verdict, row.recorded_ns, row.tracing_ns);
    rest.recorded_ns -= recorded_ns;
    rest.replayed_ns -= row.replayed_ns.value_or(0);
    if (row.name == Name(OpClass::kComm) && row.replayed_ns) {
      causes.push_back({kTransfers, recorded_ns, *row.replayed_ns});
    }
  }
  // Where streams overlap, what is left of the step says nothing of pauses.
  if (rest.replayed_ns > 0 && (rest.recorded_ns > 0 || !RanBesideOthers(report))) {
    rest.recorded_ns = std::max<std::int64_t>(rest.recorded_ns, 0);
    rest.name = kPauses;
    causes.push_back(std::move(rest));
  }
  return causes;
}

// The same by class, for a difference of which no single operation makes much.
std::vector<Cause> FindClassCauses(const Report& report, const Verdict& verdict) {
  std::vector<Cause> causes;
  for (const ClassRow& row : report.classes) {
    if (row.replayed_ns && row.name != Name(OpClass::kComm)) {
      causes.push_back({"operations of class " + row.name,
                        ComparedNs(verdict, row.recorded_ns, row.tracing_ns), *row.replayed_ns});
    }
  }
  return causes;
}

// What the difference is mostly made of, where something stands out.
void FindMostly(const Report& report, Verdict& verdict) {
  const std::int64_t apart_ns = *verdict.replayed_ns - *verdict.job_ns;
  if (std::abs(*verdict.ratio - 1) < kEqualRatio) {
    return;
  }
  const std::int64_t sign = apart_ns < 0 ? -1 : 1;
  const std::int64_t steps = RankSteps(report);
  const auto largest_of = [sign](const std::vector<Cause>& causes) {
    return std::ranges::max_element(causes, {},
                                    [sign](const Cause& cause) { return sign * cause.ApartNs(); });
  };
  std::vector<Cause> causes = FindCauses(report, verdict);
  if (causes.empty() || steps == 0) {
    return;
  }
  const double much_ns =
      kMinShare * static_cast<double>(std::abs(apart_ns)) * static_cast<double>(steps);
  if (static_cast<double>(sign * largest_of(causes)->ApartNs()) < much_ns) {
    for (Cause& cause : FindClassCauses(report, verdict)) {
      causes.push_back(std::move(cause));
    }
  }
  const auto largest = largest_of(causes);
  const std::int64_t cause_ns = largest->ApartNs() / steps;
  if (sign * cause_ns <= 0) {
    return;
  }
  verdict.mostly = largest->name;
  verdict.mostly_ns = cause_ns;
  if (largest->recorded_ns > 0) {
    verdict.mostly_ratio =
        static_cast<double>(largest->replayed_ns) / static_cast<double>(largest->recorded_ns);
  }
}

// A small difference may be the sum of two large ones: operations that are faster, and pauses that
// are longer. The other way round it may be overlap. Of one step on one rank; or empty.
std::string CancellingText(const Report& report, const Verdict& verdict) {
  std::int64_t classes_ns = 0;
  for (const ClassRow& row : report.classes) {
    classes_ns +=
        row.replayed_ns.value_or(0) - ComparedNs(verdict, row.recorded_ns, row.tracing_ns);
  }
  const std::int64_t steps = RankSteps(report);
  if (steps == 0) {
    return "";
  }
  classes_ns /= steps;
  const std::int64_t rest_ns = *verdict.replayed_ns - *verdict.job_ns - classes_ns;
  const double least_ns = kMinCancelling * static_cast<double>(*verdict.job_ns);
  // Where more is left than the smaller of the two, the larger one alone explains the step.
  if (static_cast<double>(-classes_ns) < least_ns || static_cast<double>(rest_ns) < least_ns ||
      std::abs(rest_ns + classes_ns) > std::min(-classes_ns, rest_ns)) {
    return "";
  }
  return fmt::format(" Differences cancel: operations and transfers {}, pauses and waits {}{}.",
                     SignedDurationText(classes_ns), SignedDurationText(rest_ns),
                     RanksOf(report) > 1 ? " on each rank" : "");
}

bool RanOwnKernels(const Report& report) {
  return TextIn(report.manifest.versions, "device_kernels").starts_with(kOwnKernelsPrefix);
}

// Of operations. That Reprise's kernels are faster or slower says nothing about the original.
std::string SpeedText(const Report& report, const Verdict& verdict) {
  if (!verdict.operation_speed) {
    return "";
  }
  const std::string times = TimesText(1 / *verdict.operation_speed);
  if (RanOwnKernels(report)) {
    return fmt::format(
        " Operations ran as Reprise's own kernels, {} as recorded: not the original's times.",
        times);
  }
  return verdict.kind == Verdict::Kind::kSpeed
             ? fmt::format(" This machine runs the recorded operations {}.", times)
             : "";
}

// Only where operations ran.
std::optional<double> OperationSpeed(const Report& report) {
  const auto error = report.fidelity.untraced_work_error ? report.fidelity.untraced_work_error
                                                         : report.fidelity.work_error;
  if (!error || *error <= -1 ||
      report.coverage.real + report.coverage.surrogate < 0.5 * report.coverage.Work() ||
      HasOption(report.manifest, "ops", "timed") || HasOption(report.manifest, "ops", "skip")) {
    return std::nullopt;
  }
  return 1 / (1 + *error);
}

// What a user can do about a longer replay.
std::string AdviceText(const Report& report, const Verdict& verdict) {
  const std::string& mostly = verdict.mostly;
  if (verdict.mostly_ns <= 0 || !IsReplay(report.manifest)) {
    return "";
  }
  if (mostly == kPauses) {
    return " Repeat on an idle machine; --host-gaps drop leaves pauses out.";
  }
  if (mostly == kTransfers) {
    return " `--section transfers` has their bandwidth.";
  }
  return RanOwnKernels(report) ? " --torch auto runs PyTorch's own kernels, where it is installed."
                               : "";
}

std::string MostlyText(const Report& report, const Verdict& verdict) {
  if (verdict.mostly.empty()) {
    return "";
  }
  const std::int64_t ns = verdict.mostly_ns;
  std::string text =
      fmt::format(" Mostly {} ({}{}", Fit(verdict.mostly, 40), SignedDurationText(ns),
                  RanksOf(report) > 1 ? " on each rank" : "");
  if (verdict.mostly_ratio && *verdict.mostly_ratio > 0) {
    text += ", " + TimesText(*verdict.mostly_ratio);
  }
  text += ").";
  if (const std::string odd = OddValuesText(report, verdict.mostly); ns > 0 && !odd.empty()) {
    text += fmt::format(" Its values are a cause, not the machine ({}).", odd);
  }
  return text;
}

// "10240 ranks " where a simulation has more of them than the run.
std::string RanksText(const RunManifest& manifest) {
  const std::string ranks = TextIn(manifest.options, "simulated_ranks");
  return ranks.empty() ? "" : ranks + " ranks ";
}

// Of the prediction of a job ", 37217 tokens/s, MFU 54.5 %; memory fits, 5.22 GiB left".
std::string JobText(const Report& report) {
  const auto number = [&report](const char* option) {
    return ParseNumber<double>(TextIn(report.manifest.options, option));
  };
  const double seconds = 1e-9 * static_cast<double>(report.step_time_replayed_ns.value_or(0));
  std::string text;
  for (const char* const what : {"tokens", "samples"}) {
    if (const auto of_step = number(what); of_step && seconds > 0) {
      text += fmt::format(", {:.{}f} {}/s", *of_step / seconds, what[0] == 't' ? 0 : 1, what);
    }
  }
  if (const auto mfu = number("mfu")) {
    text += fmt::format(", MFU {:.1f} %", 100 * *mfu);
  }
  if (const auto peak = number("memory_peak_bytes"), of = number("memory_bytes"); peak && of) {
    const double left = *of - *peak;
    const std::string bytes = GibibytesText(std::abs(left)) + " GiB";
    text += left < 0 ? fmt::format("; memory does not fit, {} too much", bytes)
                     : fmt::format("; memory fits, {} left", bytes);
  }
  return text;
}

std::string ReplayText(const Report& report, const Verdict& verdict) {
  if (!verdict.replayed_ns) {
    return "No iteration was finished on every rank: nothing is measured.";
  }
  const std::string machine = SimulatedMachine(report.manifest);
  std::string text = fmt::format(
      "{} {}",
      !machine.empty()
          ? fmt::format("Simulated {}on {}:", RanksText(report.manifest),
                        machine == kOwnMachine ? "the recorded machine" : Fit(machine, 40))
      : verdict.kind == Verdict::Kind::kSimulated ? "Simulated"
                                                  : "Replay",
      DurationText(verdict.replayed_ns));
  if (!verdict.ratio && !machine.empty()) {
    return text + JobText(report) + ".";
  }
  if (!verdict.ratio) {
    return text + "; how long the job's step took is unknown.";
  }
  text += fmt::format("; your job {} {}", DurationText(verdict.job_ns),
                      verdict.untraced ? "untraced" : "with tracing");
  if (!machine.empty() || verdict.kind == Verdict::Kind::kSpeed) {
    text += fmt::format(", recorded {}: {}.", RecordedWhere(report.recorded_on, report.replayed_on),
                        TimesText(*verdict.ratio));
  } else {
    text += fmt::format(": {}.", PercentChangeText(*verdict.ratio - 1));
  }
  return text + MostlyText(report, verdict) + CancellingText(report, verdict) +
         SpeedText(report, verdict) + AdviceText(report, verdict);
}

// Where the time of a set went: the largest classes, and what is left of the step.
std::string RecordedText(const Report& report) {
  if (!report.step_time_replayed_ns) {
    return "No step was recorded on every rank: how long one took is unknown.";
  }
  const std::int64_t step_ns = *report.step_time_replayed_ns;
  std::string text = fmt::format("Recorded {}", DurationText(step_ns));
  text += report.step_time_untraced_ns ? fmt::format(" with tracing, {} without.",
                                                     DurationText(report.step_time_untraced_ns))
                                       : ", with what tracing took of it.";
  const std::int64_t steps = RankSteps(report);
  if (steps == 0 || step_ns <= 0) {
    return text;
  }
  std::vector<std::pair<std::int64_t, std::string>> shares;  // of one step on one rank
  std::int64_t rest_ns = step_ns;
  for (const ClassRow& row : report.classes) {
    shares.emplace_back(row.replayed_ns.value_or(0) / steps, row.name);
    rest_ns -= shares.back().first;
  }
  shares.emplace_back(rest_ns, "pauses and waits");
  std::ranges::stable_sort(shares, std::greater{}, &std::pair<std::int64_t, std::string>::first);
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> parts;
  for (const auto& [ns, name] : shares) {
    const double share = static_cast<double>(ns) / static_cast<double>(step_ns);
    if (parts.size() < kNamed && share >= kLeastShown) {
      parts.push_back(fmt::format("{} {:.0f} %", name, 100 * share));
    }
  }
  return parts.empty() ? text
                       : fmt::format("{} Of a step{}: {}.", text,
                                     RanksOf(report) > 1 ? " on a rank, the mean" : "",
                                     fmt::join(parts, ", "));
}

std::string MonitoredSentence(const Report& report) {
  return fmt::format("{} ran for {} on {} rank{}.",
                     Fit(TextIn(report.manifest.options, "monitored", "This host"), 60),
                     DurationText(report.step_time_replayed_ns ? *report.step_time_replayed_ns
                                                               : report.measured_ns),
                     report.manifest.world_size, report.manifest.world_size == 1 ? "" : "s");
}

Verdict::Kind KindOf(const Report& report, const Verdict& verdict, bool simulated,
                     bool same_machine) {
  if (IsMonitored(report.manifest)) {
    return Verdict::Kind::kMonitored;
  }
  if (IsRecorded(report.manifest)) {
    return Verdict::Kind::kRecorded;
  }
  if (simulated && (verdict.ratio || !SimulatedMachine(report.manifest).empty())) {
    return Verdict::Kind::kSimulated;
  }
  if (!verdict.ratio) {
    return Verdict::Kind::kUnknown;
  }
  return same_machine || report.on_recorded_machine ? Verdict::Kind::kError : Verdict::Kind::kSpeed;
}

}  // namespace

std::string_view Name(Verdict::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"unknown",   "error",    "speed",
                                                      "simulated", "recorded", "monitored"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Verdict FindVerdict(const Report& report, bool same_machine) {
  Verdict verdict;
  verdict.replayed_ns = report.step_time_replayed_ns;
  const bool simulated = IsSimulated(report.manifest);
  // A simulation has the recording with its tracing, unless that was deducted.
  const bool traced = simulated && !HasOption(report.manifest, "host_gap_factor", "untraced");
  verdict.untraced = report.step_time_untraced_ns && !traced && !IsRecorded(report.manifest);
  verdict.job_ns = verdict.untraced ? report.step_time_untraced_ns : report.step_time_recorded_ns;
  if (verdict.replayed_ns && verdict.job_ns && *verdict.job_ns > 0 &&
      !IsRecorded(report.manifest)) {
    verdict.ratio =
        static_cast<double>(*verdict.replayed_ns) / static_cast<double>(*verdict.job_ns);
  }
  verdict.kind = KindOf(report, verdict, simulated, same_machine);
  const std::string machine = SimulatedMachine(report.manifest);
  verdict.elsewhere = !machine.empty() && machine != kOwnMachine;
  verdict.caution = UnknownWorkText({.share = report.unknown_work,
                                     .timed = report.coverage_basis == CoverageBasis::kTime,
                                     .shapes = report.work_known});
  verdict.warnings = VerdictWarnings(report, verdict);
  if (verdict.kind == Verdict::Kind::kMonitored) {
    verdict.text = MonitoredSentence(report);
    return verdict;
  }
  if (verdict.kind == Verdict::Kind::kRecorded) {
    verdict.text = RecordedText(report);
    return verdict;
  }
  if (verdict.ratio) {
    FindMostly(report, verdict);
    verdict.operation_speed = OperationSpeed(report);
  }
  verdict.text = ReplayText(report, verdict);
  return verdict;
}

bool HasRecordedTimes(const Report& report) {
  if (IsRecorded(report.manifest)) {
    return false;
  }
  const bool nothing = report.coverage.amount <= 0;  // no nodes at all: it is not known
  return nothing || report.recorded_ns > 0 || report.step_time_recorded_ns.value_or(0) > 0;
}

bool RanBesideOthers(const Report& report) {
  constexpr double kNoticed = 1.01;
  double covered_ns = 0;
  for (const RankRow& row : report.ranks) {
    covered_ns += static_cast<double>(row.alike) * row.coverage.Work() * row.coverage.amount;
  }
  return report.coverage_basis != CoverageBasis::kTime ||
         static_cast<double>(report.recorded_ns) > kNoticed * covered_ns;
}

std::int64_t RanksOf(const Report& report) {
  std::int64_t ranks = 0;
  for (const RankRow& row : report.ranks) {
    ranks += row.alike;
  }
  return ranks;
}

std::int64_t RankSteps(const Report& report) {
  std::int64_t steps = 0;
  for (const RankRow& row : report.ranks) {
    steps += row.alike * std::max<std::int64_t>(row.recorded_steps, 1);
  }
  return steps;
}

std::string RatioText(const Verdict& verdict, std::optional<std::int64_t> replayed_ns,
                      std::int64_t recorded_ns) {
  if (!replayed_ns || recorded_ns <= 0) {
    return "-";
  }
  const double ratio = static_cast<double>(*replayed_ns) / static_cast<double>(recorded_ns);
  return IsError(verdict) ? ErrorText(ratio - 1) : NumberText(ratio);
}

std::string PercentChangeText(double fraction) {
  const double percent = 100 * fraction;
  return std::abs(percent) < 9.95 ? fmt::format("{:+.1f} %", percent)
                                  : fmt::format("{:+.0f} %", percent);
}

std::string TimesText(double ratio) {
  const double times = ratio < 1 ? 1 / ratio : ratio;
  if (times < 1.005) {
    return "as long";
  }
  const int digits = times < 1.995 ? 2 : times < 9.95 ? 1 : 0;
  return fmt::format("{:.{}f} times as {}", times, digits, ratio < 1 ? "fast" : "long");
}

}  // namespace reprise
