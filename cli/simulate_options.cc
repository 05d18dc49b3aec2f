#include "cli/simulate_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/workload_effects.h"
#include "core/shown_text.h"
#include "et_schema/rank_classes.h"

namespace reprise {
namespace {

class GivenOptions {
 public:
  GivenOptions(const CLI::App& app, const std::string& what) : app_(app), what_(ShownText(what)) {
    std::error_code error;
    set_ = std::filesystem::is_directory(what, error);
    sweep_ = Has("--sweep") || Has("--grid");
    const bool part = Has("--ranks") || Has("--steps") || Has("--one-trace") || Has("--range");
    folded_ = set_ && RankClasses::Present(what) && !part;
  }

  Status Check() const {
    REPRISE_TRY(CheckOutputs());
    if (Has("--rank-by") && !sweep_) {
      return UsageError(
          "--rank-by orders the configurations of a sweep; give --sweep, too, or leave it out");
    }
    if (set_ && Has("--seed") && !Has("--jitter")) {
      return UsageError("--seed is of --jitter; give that, too, or leave it out");
    }
    if (set_ && !folded_ && Text("--fold") == "off") {
      return UsageError(fmt::format(
          "--fold off: each rank of {} is simulated by itself already; leave it out", what_));
    }
    return {};
  }

 private:
  [[nodiscard]] bool Has(const std::string& name) const {
    const CLI::Option* const option = app_.get_option_no_throw(name);
    return option != nullptr && option->count() > 0;
  }
  [[nodiscard]] std::string Text(const std::string& name) const {
    return Has(name) ? app_.get_option_no_throw(name)->results().front() : "";
  }

  Status CheckOutputs() const {
    const bool run = Has("--output");
    if (Has("--force") && !run) {
      return UsageError(
          "--force replaces what -o names, and there is no -o; give one, or leave it out");
    }
    if (Has("--name") && !set_ && (!run || sweep_)) {
      return UsageError(fmt::format("--name is of the run that is written, and {}; leave it out",
                                    sweep_ ? "a sweep writes none" : "without -o there is none"));
    }
    return {};
  }

  const CLI::App& app_;
  std::string what_;
  bool set_ = false, folded_ = false, sweep_ = false;
};

}  // namespace

Status CheckSimulateOptions(const CLI::App& app, const std::string& what) {
  return GivenOptions(app, what).Check();
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
