#include "predict/search/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/text.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/job/valid_values.h"

namespace reprise {
namespace {

constexpr std::int64_t kMostMicroBatch = 16;
constexpr std::int64_t kMostChunks = 8;

enum class States : std::uint8_t { kAsDescribed, kDivided, kFullySharded };

std::vector<std::int64_t> Divisors(std::int64_t of, std::int64_t most) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t by = 1; by <= std::min(of, most); ++by) {
    if (of % by == 0) {
      divisors.push_back(by);
    }
  }
  return divisors;
}

std::vector<std::int64_t> GivenOr(const std::optional<std::int64_t>& given,
                                  std::vector<std::int64_t> values) {
  return given ? std::vector{*given} : std::move(values);
}

// As even as can be: one layer less in the last stage, the first, the last but one, and so on.
std::vector<std::int64_t> SpreadLayers(std::int64_t layers, std::int64_t stages) {
  const std::int64_t most = (layers + stages - 1) / stages;
  std::vector<std::int64_t> spread(static_cast<std::size_t>(stages), most);
  const std::int64_t fewer = most * stages - layers;
  for (std::int64_t i = 0; i < fewer; ++i) {
    spread[static_cast<std::size_t>(i % 2 == 0 ? stages - 1 - i / 2 : i / 2)] -= 1;
  }
  return spread;
}

class LayoutsOfJob {
 public:
  LayoutsOfJob(const JobOptions& job, const Workload& described, const MachineModel& machine)
      : job_(job),
        described_(described),
        in_node_(static_cast<std::int64_t>(machine.node.devices.value)) {}

  std::vector<Layouts::One> All() {
    const std::int64_t ranks = *job_.ranks;
    const std::int64_t cp = described_.layout.cp;
    for (const std::int64_t tp : GivenOr(job_.tp, Divisors(ranks, in_node_))) {
      if (ranks % (tp * cp) != 0) {
        continue;
      }
      for (const std::int64_t pp :
           GivenOr(job_.pp, Divisors(ranks / (tp * cp), described_.model.layers))) {
        const std::int64_t each = tp * cp * pp;
        if (ranks % each == 0 && (!job_.dp || *job_.dp == ranks / each)) {
          OfSizes(tp, pp, ranks / each);
        }
      }
    }
    return std::move(all_);
  }

 private:
  void OfSizes(std::int64_t tp, std::int64_t pp, std::int64_t dp) {
    JobOptions options = job_;
    options.tp = tp;
    options.pp = pp;
    if (!job_.sp && tp > 1 && !described_.model.batch_first) {
      options.sp = true;
    }
    for (const std::int64_t ep : ExpertsOf(dp)) {
      if (ep > 0) {
        options.ep = ep;
      }
      for (const States states : StatesOf(dp)) {
        JobOptions divided = options;
        if (states == States::kDivided) {
          divided.distributed_optimizer = true;
        } else if (states == States::kFullySharded) {
          divided.fsdp = true;
        }
        for (const std::int64_t batch : MicroBatchesOf(dp)) {
          divided.micro_batch = batch;
          OfSchedules(divided);
        }
      }
    }
  }

  // 0: nothing to choose.
  [[nodiscard]] std::vector<std::int64_t> ExpertsOf(std::int64_t dp) const {
    const std::int64_t experts = described_.model.experts;
    return job_.ep || experts == 0 ? std::vector<std::int64_t>{0} : Divisors(experts, dp);
  }
  [[nodiscard]] std::vector<States> StatesOf(std::int64_t dp) const {
    const Layout& l = described_.layout;
    const bool given = job_.fsdp || job_.distributed_optimizer || job_.zero || l.fsdp;
    std::vector<States> states = {States::kAsDescribed};
    if (!given && dp * l.cp > 1 && described_.model.tables.empty()) {
      if (!l.distributed_optimizer) {
        states.push_back(States::kDivided);
      }
      states.push_back(States::kFullySharded);
    }
    return states;
  }
  [[nodiscard]] std::vector<std::int64_t> MicroBatchesOf(std::int64_t dp) const {
    if (job_.micro_batch) {
      return {*job_.micro_batch};
    }
    std::vector<std::int64_t> batches;
    const std::int64_t each = described_.global_batch / dp;
    for (std::int64_t batch = 1; batch <= kMostMicroBatch && each > 0 && each % batch == 0;
         batch *= 2) {
      batches.push_back(batch);
    }
    return batches;
  }

  void OfSchedules(JobOptions options) {
    std::vector<std::string> recomputes = {"none", "full"};
    if (!described_.model.fused_attention) {
      recomputes.insert(recomputes.begin() + 1, "selective");
    }
    if (job_.recompute || !described_.model.tables.empty()) {
      recomputes.clear();
      OfSchedule(options);
    }
    for (const std::string& recompute : recomputes) {
      options.recompute = recompute;
      OfSchedule(options);
    }
  }
  void OfSchedule(JobOptions options) {
    if (job_.schedule) {
      AddIfValid(options);
      return;
    }
    options.schedule = "1f1b";
    const std::int64_t layers = described_.model.layers;
    const std::int64_t pp = *options.pp;
    JobOptions spread = options;
    const bool stays = pp == described_.layout.pp && !described_.layout.layers_per_stage.empty();
    if (!job_.layers_per_stage && !stays && layers % pp != 0) {
      spread.layers_per_stage = SpreadLayers(layers, pp);
    }
    AddIfValid(spread);
    // Powers of two, and one layer a chunk.
    for (std::int64_t chunks = 2; chunks <= kMostChunks && pp > 1; ++chunks) {
      const bool tried = (chunks & (chunks - 1)) == 0 || chunks * pp == layers;
      if (tried && layers % (pp * chunks) == 0) {
        options.schedule = fmt::format("interleaved:{}", chunks);
        AddIfValid(options);
      }
    }
  }

  void AddIfValid(const JobOptions& options) {
    Result<Workload> workload = DescribeJob(options);
    if (workload && CheckWorkload(*workload)) {
      workload->assumed = described_.assumed;
      all_.push_back({options, std::move(*workload)});
    }
  }

  const JobOptions& job_;
  const Workload& described_;
  std::int64_t in_node_;
  std::vector<Layouts::One> all_;
};

std::string JoinedNames(const Overlap& overlap) {
  std::string text;
  for (const auto& [name, on] : {std::pair("tp", overlap.tp), std::pair("grad", overlap.grad),
                                 std::pair("param", overlap.param)}) {
    text += on ? (text.empty() ? "" : "+") + std::string(name) : "";
  }
  return text.empty() ? "none" : text;
}

}  // namespace

bool LeavesLayoutOpen(const JobOptions& job) { return job.ranks && !(job.tp && job.pp); }

Result<Layouts> LayoutsOf(const JobOptions& job, const MachineModel& machine) {
  JobOptions without = job;  // of any number of ranks
  without.ranks.reset();
  REPRISE_ASSIGN(Workload described, DescribeJob(without));
  JobOptions open = job;
  if (described.assumed.contains("global-batch")) {  // the same for all layouts
    described.global_batch = *job.ranks;
    open.global_batch = described.global_batch;
  }
  static const std::set<std::string> chosen = {"tp",  "pp", "dp", "fsdp", "distributed-optimizer",
                                               "zero"};
  REPRISE_TRY(CheckEffects(job, described, chosen));
  Layouts layouts{.all = LayoutsOfJob(open, described, machine).All()};
  if (layouts.all.empty()) {
    REPRISE_TRY(MakeJobOrSuggest(job));
    return UsageError(
        fmt::format("no layout of {} on {} ranks keeps the rules; give --tp and --pp to see which "
                    "one they break",
                    job.what, *job.ranks));
  }
  for (const auto& [name, text] : GivenJobOptions(job)) {
    if (name != "ranks") {
      layouts.kept.emplace_back(name, text);
    }
  }
  if (!job.overlap) {
    layouts.kept.emplace_back("overlap", JoinedNames(described.overlap));
  }
  if (!job.cp && described.model.tables.empty()) {
    layouts.kept.emplace_back("cp", std::to_string(described.layout.cp));
  }
  return layouts;
}

std::string ChosenOptions(const JobOptions& job, const JobOptions& of) {
  const auto given = GivenJobOptions(job);
  std::string text;
  const auto chosen = GivenJobOptions(of);
  for (const JobOption& option : AllJobOptions()) {
    const auto at = chosen.find(option.name);
    if (at == chosen.end() || given.contains(option.name)) {
      continue;
    }
    std::string value = at->second;
    std::ranges::replace(value, '+', ',');
    const bool is_switch = std::holds_alternative<JobOption::Switch>(option.member);
    text += fmt::format("{}--{}{}", text.empty() ? "" : " ", option.name,
                        is_switch ? std::string() : " " + value);
  }
  return text;
}

}  // namespace reprise
