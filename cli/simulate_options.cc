#include "cli/simulate_options.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "cli/option_tree.h"
#include "cli/workload_effects.h"
#include "core/shown_text.h"
#include "et_schema/rank_classes.h"

namespace reprise {

Status CheckSimulateOptions(const CLI::App& app, const std::string& what) {
  const auto given = [&app](const char* name) { return GivenOption(app, name) != nullptr; };
  std::error_code error;
  const bool set = std::filesystem::is_directory(what, error);
  const bool sweep = given("--sweep") || given("--grid");
  const bool run = given("--output");
  if (given("--force") && !run) {
    return UsageError(
        "--force replaces what -o names, and there is no -o; give one, or leave it out");
  }
  if (given("--name") && !set && (!run || sweep)) {
    return UsageError(fmt::format("--name is of the run that is written, and {}; leave it out",
                                  sweep ? "a sweep writes none" : "without -o there is none"));
  }
  if (given("--rank-by") && !sweep) {
    return UsageError(
        "--rank-by orders the configurations of a sweep; give --sweep, too, or leave it out");
  }
  if (set && given("--seed") && !given("--jitter")) {
    return UsageError("--seed is of --jitter; give that, too, or leave it out");
  }
  const bool part =
      given("--ranks") || given("--steps") || given("--one-trace") || given("--range");
  const CLI::Option* const fold = GivenOption(app, "--fold");
  const bool folded = set && RankClasses::Present(what) && !part;
  if (set && !folded && fold != nullptr && fold->results().front() == "off") {
    return UsageError(
        fmt::format("--fold off: each rank of {} is simulated by itself already; leave it out",
                    ShownText(what)));
  }
  return {};
}

Status CheckSweptOptions(const std::vector<SweepKey>& keys, const WorkloadFlags& workload) {
  const auto given = GivenWorkloadOptions(workload);
  WorkloadFlags all = workload;
  std::set<std::string> swept;
  for (const SweepKey& key : keys) {
    if (key.name == "name") {
      return UsageError("--sweep name: expected an option of layout or step, as in tp=1,2");
    }
    if (const auto option = given.find(key.name); option != given.end()) {
      return UsageError(
          fmt::format("--{0} {1} and --sweep {0}=… both say {0}; leave one of them out", key.name,
                      ShownText(option->second)));
    }
    REPRISE_TRY(SetWorkloadOption(key.name, key.values.back(), all));
    swept.insert(key.name);
  }
  // What cannot be is a row of the sweep, with its reason.
  const Result<Workload> described = DescribeWorkload(all);
  return described ? CheckWorkloadEffects(all, *described, swept) : Status{};
}

}  // namespace reprise
