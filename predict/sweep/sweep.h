// A sweep: jobs that differ in the values of some keys. It is a job with values of its options
// (`llama3-70b tp=4,8 pp=1,2`), or a sweep file: lists of models, layouts and settings
// (docs/sweep_format.md).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "predict/workload/job/options.h"

namespace reprise {

struct SweepKey {
  std::string name;
  std::vector<std::string> values;
};

// A job of the sweep: by key its value, and where figures draw it.
struct SweepJob {
  std::vector<std::string> values;
  std::string model, layout, setting;  // names; empty: the sweep does not vary it
  JobOptions options;
};

struct Sweep {
  std::string name;
  std::string machine;  // name or file; empty: the file names none
  std::vector<SweepKey> keys;
  std::vector<SweepJob> jobs;  // the last key varies fastest
  // Rows of one model are ranked among themselves.
  bool several_models = false;
};

// Of `job`, all combinations of `keys`: "tp=1,2,4,8". Lists are joined by '+', switches are on or
// off. Usage error: no such option, one that `job` gives, too, or that has no effect on it; a key
// or value twice; a value that is none of its kind; too many combinations.
[[nodiscard]] Result<Sweep> SweepOfJob(const JobOptions& job, const std::vector<std::string>& keys);

// A sweep file's text; `origin` begins messages. Bad input: the text is no sweep, or has an unknown
// field or option.
[[nodiscard]] Result<Sweep> ParseSweep(std::string_view text, const std::string& name,
                                       const std::string& origin);
// A built-in sweep by name, or a file. The same errors.
[[nodiscard]] Result<Sweep> ReadSweep(const std::string& name_or_path);
// Whether it names a sweep: a built-in one, or a JSON file with "models". Else it is a job.
[[nodiscard]] bool IsSweep(const std::string& name_or_path);

struct BuiltinSweep {
  std::string name, about, source, machine;
  std::size_t jobs = 0;
};
[[nodiscard]] std::vector<BuiltinSweep> BuiltinSweeps();

// Keeps the jobs with these values: "setting=base,cc". Usage error: an unknown key or value (with
// the nearest), or no job has them.
[[nodiscard]] Result<Sweep> ChooseJobs(Sweep sweep, const std::vector<std::string>& chosen);

// "tp=1 pp=2".
[[nodiscard]] std::string ConfigurationText(const std::vector<SweepKey>& keys,
                                            const std::vector<std::string>& values);

}  // namespace reprise
