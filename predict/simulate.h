// A step of a job, or of a captured or generated set, on a described machine. Nothing runs; every
// time is modelled. docs/simulation.md describes it to users.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/prediction.h"
#include "predict/set_power.h"
#include "predict/simulator/scale.h"
#include "predict/transform/rule_set.h"
#include "predict/workload/description.h"
#include "replayer/plan/simulated_run.h"

namespace reprise {

// Which machine, and what differs from its file.
struct MachineRequest {
  std::string machine;                  // name, file, or "recorded": the set's own
  std::string captured_on;              // name or file; empty: by the device in the capture
  std::vector<std::string> overrides;   // "PATH=VALUE"
  std::vector<std::string> slow_ranks;  // "RANK=F"
  std::vector<std::string> slow_links;  // "NAME=F", "NAME@DOMAIN=F"
  bool flow = false;                    // NetworkModel::kFlow
  double jitter = 0;                    // coefficient of variation of each operation's time
  std::uint64_t seed = 1;               // of the jitter
  std::string power_limit;              // "500W"; empty: the machine's
  bool until_steady = false;            // the step repeats until temperatures do
};

// The machines, read and checked. A value: any number of predictions may use it at the same time.
struct TargetMachine {
  std::string name;  // as it was given
  std::vector<std::string> overrides;
  ScaleOptions options;
  SetPower power;  // before any set

  // Bad input, usage: as the files and texts are.
  [[nodiscard]] static Result<TargetMachine> Create(const MachineRequest& request);
  // Of a job, or a set without durations. Usage error where an option, or a change of times, is of
  // recorded times; bad input where the machine is the one that the set was recorded on.
  [[nodiscard]] Status CheckWithoutTimes(bool job, const PlanOptions& changes = {}) const;
};

// The part of the set at request.set_directory; a run is written to request.run_directory, which
// must be given. Bad input: a damaged set, a machine that does not fit it.
// With rules, of the set as they change it; bad input: a rule that finds nothing.
[[nodiscard]] Result<Prediction> PredictSet(const TargetMachine& machine,
                                            const SimulationRequest& request,
                                            RuleSet* rules = nullptr);
// The same with the rules and without them, which Prediction::what_if says. The run is that of the
// rules.
[[nodiscard]] Result<Prediction> PredictWhatIf(const TargetMachine& machine,
                                               const SimulationRequest& request, RuleSet& rules);

// A job that is in no set; checked (CheckWorkload). The request's run directory may be empty: no
// run is written then.
struct JobRequest {
  std::string run_directory;
  bool force = false;
  std::string command_line;
  bool whole = false;  // simulates every micro-batch, also where few of them tell the rest
  bool largest_micro_batch = false;  // also finds the largest one that fits: generates several jobs
  bool small = false;  // a part of PredictExtended: keeps what that needs of power over time
};
[[nodiscard]] Result<Prediction> PredictJob(const TargetMachine& machine, const Workload& workload,
                                            const JobRequest& request);

}  // namespace reprise
