// What a run's report begins with: one sentence on how long the replay took beside the job, and
// what changes how that sentence reads. Console, page and JSON show the same text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

struct Verdict {
  enum class Kind : std::uint8_t {
    kUnknown,    // no step of the replay or of the job is known
    kError,      // replayed where it was recorded: the difference is an error
    kSpeed,      // replayed elsewhere, or the recording's machine is unknown: no error
    kSimulated,  // nothing was executed
    kRecorded,   // a trace set itself: there is one time, and nothing to compare it with
    kMonitored,  // nothing was replayed
  };
  Kind kind = Kind::kUnknown;
  // One step: the replay's median, and the job's.
  std::optional<std::int64_t> replayed_ns, job_ns;
  // job_ns is without tracing. Never of a simulation, which has the recording with its tracing.
  bool untraced = false;
  std::optional<double> ratio;  // replayed_ns / job_ns
  bool elsewhere = false;       // simulated on another machine than the recorded one
  // Which operation, or "transfers", the difference is mostly made of; empty: none stands out.
  std::string mostly;
  std::int64_t mostly_ns = 0;  // of one step on one rank, the mean
  std::optional<double> mostly_ratio;
  // Recorded over replayed time of the operations, without what tracing took, where that is known.
  std::optional<double> operation_speed;
  std::string caution;                // comes before all else: why the run says little; or empty
  std::string text;                   // the sentences, on one line
  std::vector<std::string> warnings;  // what changes the reading, the most important first
};

[[nodiscard]] std::string_view Name(Verdict::Kind kind);

// What a replayed time is compared with: like the job's step, without what tracing took where the
// step's time without it is known.
[[nodiscard]] inline std::int64_t ComparedNs(const Verdict& verdict, std::int64_t recorded_ns,
                                             std::int64_t tracing_ns) {
  return recorded_ns - (verdict.untraced ? tracing_ns : 0);
}

// Whether tables may call a difference an error.
[[nodiscard]] inline bool IsError(const Verdict& verdict) {
  return verdict.kind != Verdict::Kind::kSpeed && !verdict.elsewhere;
}
// How tables name the execution's own times.
[[nodiscard]] inline std::string ReplayedName(const Verdict& verdict) {
  return verdict.kind == Verdict::Kind::kSimulated  ? "modelled"
         : verdict.kind == Verdict::Kind::kRecorded ? "recorded"
                                                    : "replayed";
}
// How tables name and write a replayed time beside a recorded one.
[[nodiscard]] inline std::string RatioName(const Verdict& verdict) {
  return IsError(verdict) ? "error" : "ratio";
}
// "+3.1 %", or "1.03" where it is no error; "-" where one of them is missing.
[[nodiscard]] std::string RatioText(const Verdict& verdict, std::optional<std::int64_t> replayed_ns,
                                    std::int64_t recorded_ns);

// "+60 %", "-4.4 %".
[[nodiscard]] std::string PercentChangeText(double fraction);
// Of a ratio of times: "1.59 times as long", "3.4 times as fast", "as long".
[[nodiscard]] std::string TimesText(double ratio);

}  // namespace reprise
