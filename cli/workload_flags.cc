#include "cli/workload_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

#include "cli/number_checks.h"
#include "core/nearest.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "workload/job/generate.h"
#include "workload/job/nearest_layout.h"
#include "workload/job/parse.h"

namespace reprise {
namespace {

using FlagNumber = std::optional<std::int64_t> WorkloadFlags::*;
using FlagNumbers = std::optional<std::vector<std::int64_t>> WorkloadFlags::*;
using FlagText = std::optional<std::string> WorkloadFlags::*;
using FlagTexts = std::optional<std::vector<std::string>> WorkloadFlags::*;
using FlagSwitch = std::optional<bool> WorkloadFlags::*;

struct WorkloadOption {
  const char* name;
  const char* group;
  const char* help;
  std::variant<FlagNumber, FlagNumbers, FlagText, FlagTexts, FlagSwitch> member;
};

constexpr char kLayoutGroup[] = "Layout";
constexpr char kStepGroup[] = "Step";

const std::vector<WorkloadOption>& AllWorkloadOptions() {
  using F = WorkloadFlags;
  static const std::vector<WorkloadOption> options = {
      {"name", "", "name of the trace set (default: the preset's or file's)", &F::name},
      {"ranks", kLayoutGroup, "number of ranks; data parallelism follows", &F::ranks},
      {"tp", kLayoutGroup, "tensor parallelism", &F::tp},
      {"pp", kLayoutGroup, "stages of the pipeline", &F::pp},
      {"dp", kLayoutGroup, "data parallelism", &F::dp},
      {"ep", kLayoutGroup, "expert parallelism, among data-parallel ranks", &F::ep},
      {"cp", kLayoutGroup, "context parallelism", &F::cp},
      {"layers-per-stage", kLayoutGroup, "layers of each stage, as in 7,8,7", &F::layers_per_stage},
      {"fsdp", kLayoutGroup, "parameters, gradients and optimizer states divided", &F::fsdp},
      {"sp", kLayoutGroup, "sequence parallelism within tensor parallelism", &F::sp},
      {"distributed-optimizer", kLayoutGroup, "optimizer states divided among data-parallel ranks",
       &F::distributed_optimizer},
      {"global-batch", kStepGroup, "sequences, images or samples of a step", &F::global_batch},
      {"micro-batch", kStepGroup, "those of one pass on one rank", &F::micro_batch},
      {"sequence", kStepGroup, "tokens of a sequence", &F::sequence},
      {"steps", kStepGroup, "steps to write", &F::steps},
      {"schedule", kStepGroup, "gpipe, 1f1b, or interleaved:V with V chunks a stage", &F::schedule},
      {"recompute", kStepGroup,
       "activations computed again: none, selective (attention), full (layers)", &F::recompute},
      {"overlap", kStepGroup, "transfers beside computation: tp, grad, param, or none",
       &F::overlap},
      {"dtype", kStepGroup, "bfloat16, float16 or float32", &F::dtype},
      {"routing", kStepGroup, "of tokens to experts, in models with experts: balanced, or zipf:A",
       &F::routing},
      {"seed", kStepGroup, "of the routing, if that is not balanced", &F::seed},
  };
  return options;
}

std::vector<std::string> WorkloadOptionNames() {
  std::vector<std::string> names;
  for (const WorkloadOption& option : AllWorkloadOptions()) {
    names.emplace_back(option.name);
  }
  return names;
}

// Of all numbers but the seed, which may be 0.
bool MustBePositive(const WorkloadOption& option) {
  return std::string_view(option.name) != "seed";
}

std::vector<std::string> PartsOf(const std::string& text) {
  const std::vector<std::string_view> parts = SplitText(text, '+');
  return {parts.begin(), parts.end()};
}

Result<std::int64_t> ParseFlagNumber(const WorkloadOption& option, const std::string& text) {
  const int least = MustBePositive(option) ? 1 : 0;
  const auto number = ParseNumber<std::int64_t>(text);
  if (!number || *number < least) {
    return UsageError(fmt::format("{}={}: expected a whole number of at least {}", option.name,
                                  ShownText(text), least));
  }
  return *number;
}

// Flags go over what the description says. What a flag breaks is a usage error, what the
// description breaks is bad input.
Status AsUsage(Status status) {
  return status ? status : Status(UsageError(status.error().message));
}

void ApplyLayout(const WorkloadFlags& flags, Workload& w) {
  Layout& l = w.layout;
  const auto set = [](const std::optional<std::int64_t>& flag, std::int64_t& to) {
    to = flag.value_or(to);
  };
  if (flags.pp && *flags.pp != l.pp) {
    l.layers_per_stage.clear();  // they were of other stages
  }
  set(flags.tp, l.tp);
  set(flags.pp, l.pp);
  set(flags.cp, l.cp);
  set(flags.dp, l.dp);
  set(flags.ep, l.ep);
  l.layers_per_stage = flags.layers_per_stage.value_or(l.layers_per_stage);
  l.fsdp = flags.fsdp.value_or(l.fsdp);
  l.distributed_optimizer =
      flags.distributed_optimizer.value_or(l.distributed_optimizer) && !flags.fsdp.value_or(false);
  l.sequence_parallel = flags.sp.value_or(l.sequence_parallel && l.tp > 1);
}

// The number of ranks nearest to `ranks` that keeps all rules.
std::int64_t NearestRanks(Workload w, std::int64_t each, std::int64_t ranks) {
  constexpr std::int64_t kMaxTries = 64;
  const std::int64_t nearest = std::max<std::int64_t>(1, (ranks + each / 2) / each);
  for (std::int64_t i = 0; i < kMaxTries; ++i) {
    w.layout.dp = nearest + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);
    if (w.layout.dp >= 1 && CheckRules(w)) {
      return w.layout.dp * each;
    }
  }
  return nearest * each;
}

// Data parallelism follows from the number of ranks. The rest of the workload is complete.
Status ApplyRanks(const WorkloadFlags& flags, Workload& w) {
  Layout& l = w.layout;
  if (!flags.ranks) {
    return {};
  }
  const std::int64_t each = l.tp * l.pp * l.cp;
  if (flags.dp && each * l.dp != *flags.ranks) {
    return UsageError(fmt::format("--ranks {} is not tp {} x pp {} x cp {} x dp {} = {}",
                                  *flags.ranks, l.tp, l.pp, l.cp, l.dp, each * l.dp));
  }
  if (each <= 0 || *flags.ranks % each != 0) {
    return UsageError(fmt::format(
        "--ranks {} is not a multiple of {} (tp {} x pp {} x cp {}); the nearest that works is {}",
        *flags.ranks, each, l.tp, l.pp, l.cp, each > 0 ? NearestRanks(w, each, *flags.ranks) : 0));
  }
  l.dp = *flags.ranks / each;
  return {};
}

Status ApplyStep(const WorkloadFlags& flags, Workload& w) {
  if (flags.schedule) {
    const std::int64_t chunks = w.virtual_stages;
    REPRISE_TRY(AsUsage(SetSchedule(*flags.schedule, w)));
    if (w.virtual_stages != chunks &&
        static_cast<std::int64_t>(w.layout.layers_per_stage.size()) != w.layout.pp) {
      w.layout.layers_per_stage.clear();
    }
  }
  if (flags.recompute) {
    REPRISE_TRY(AsUsage(SetRecompute(*flags.recompute, w)));
  }
  if (flags.dtype) {
    REPRISE_TRY(AsUsage(SetDType(*flags.dtype, w)));
  }
  if (flags.routing) {
    REPRISE_TRY(AsUsage(SetRouting(*flags.routing, w)));
  }
  if (flags.overlap) {
    REPRISE_TRY(AsUsage(SetOverlap(*flags.overlap, w)));
  }
  return {};
}

// A rule that the workload breaks only because of the flags is a usage error.
Status CheckWithFlags(const WorkloadFlags& flags, const Workload& w) {
  Status checked = CheckWorkload(w, flags.ranks);
  if (checked) {
    return checked;
  }
  REPRISE_ASSIGN(Workload described, ReadWorkload(flags.what));
  CompleteWorkload(described);
  return CheckRules(described)
             ? AsUsage(checked)
             : BadInput(fmt::format("{}: {}", ShownText(flags.what), checked.error().message));
}

}  // namespace

void AddWorkloadOptions(CLI::App& app, WorkloadFlags& flags,
                        const std::vector<std::string>& without) {
  for (const WorkloadOption& option : AllWorkloadOptions()) {
    if (std::ranges::find(without, option.name) != without.end()) {
      continue;
    }
    const std::string name = fmt::format("--{}", option.name);
    const auto add = [&](auto member) -> CLI::Option* {
      using Member = decltype(member);
      if constexpr (std::is_same_v<Member, FlagSwitch>) {
        return app.add_flag_callback(
            name, [&flags, member] { flags.*member = true; }, option.help);
      } else if constexpr (std::is_same_v<Member, FlagNumber>) {
        return app.add_option(name, flags.*member, option.help)
            ->check(MustBePositive(option) ? Positive() : NotNegative());
      } else if constexpr (std::is_same_v<Member, FlagText>) {
        return app.add_option(name, flags.*member, option.help);
      } else {
        return app
            .add_option_function<typename std::decay_t<decltype(flags.*member)>::value_type>(
                name, [&flags, member](const auto& values) { flags.*member = values; }, option.help)
            ->delimiter(',');
      }
    };
    CLI::Option* const added = std::visit(add, option.member);
    if (*option.group != '\0') {
      added->group(option.group);
    }
  }
}

Status SetWorkloadOption(const std::string& name, const std::string& text, WorkloadFlags& flags) {
  std::string key = name;
  std::ranges::replace(key, '_', '-');
  const auto& options = AllWorkloadOptions();
  const auto option =
      std::ranges::find_if(options, [&](const WorkloadOption& known) { return key == known.name; });
  if (option == options.end()) {
    return UsageError(fmt::format("the options of a job have no '{}'{}", ShownText(name),
                                  DidYouMean(name, WorkloadOptionNames())));
  }
  const auto set = [&](auto member) -> Status {
    using Member = decltype(member);
    if constexpr (std::is_same_v<Member, FlagSwitch>) {
      if (text != "on" && text != "off") {
        return UsageError(fmt::format("{}={}: expected on or off", key, ShownText(text)));
      }
      flags.*member = text == "on";
    } else if constexpr (std::is_same_v<Member, FlagNumber>) {
      REPRISE_ASSIGN(flags.*member, ParseFlagNumber(*option, text));
    } else if constexpr (std::is_same_v<Member, FlagText>) {
      flags.*member = text;
    } else if constexpr (std::is_same_v<Member, FlagTexts>) {
      flags.*member = PartsOf(text);
    } else {
      std::vector<std::int64_t> numbers;
      for (const std::string& part : PartsOf(text)) {
        REPRISE_ASSIGN(numbers.emplace_back(), ParseFlagNumber(*option, part));
      }
      flags.*member = std::move(numbers);
    }
    return {};
  };
  return std::visit(set, option->member);
}

std::map<std::string, std::string> GivenWorkloadOptions(const WorkloadFlags& flags) {
  std::map<std::string, std::string> given;
  for (const WorkloadOption& option : AllWorkloadOptions()) {
    const auto text = [&flags](auto member) -> std::optional<std::string> {
      if (!(flags.*member)) {
        return std::nullopt;
      }
      const auto& value = *(flags.*member);
      if constexpr (std::is_same_v<decltype(member), FlagSwitch>) {
        return value ? "on" : "off";
      } else if constexpr (std::is_same_v<decltype(member), FlagNumbers> ||
                           std::is_same_v<decltype(member), FlagTexts>) {
        return fmt::format("{}", fmt::join(value, "+"));
      } else {
        return fmt::format("{}", value);
      }
    };
    if (std::optional<std::string> value = std::visit(text, option.member)) {
      given.emplace(option.name, std::move(*value));
    }
  }
  return given;
}

Result<Workload> DescribeWorkload(const WorkloadFlags& flags) {
  REPRISE_ASSIGN(Workload w, ReadWorkload(flags.what));
  REPRISE_TRY(ApplyStep(flags, w));
  ApplyLayout(flags, w);
  w.global_batch = flags.global_batch.value_or(w.global_batch);
  w.micro_batch = flags.micro_batch.value_or(w.micro_batch);
  w.model.sequence = flags.sequence.value_or(w.model.sequence);
  w.steps = flags.steps.value_or(w.steps);
  w.routing.seed =
      static_cast<std::uint64_t>(flags.seed.value_or(static_cast<std::int64_t>(w.routing.seed)));
  w.name = flags.name.value_or(w.name);
  CompleteWorkload(w);
  REPRISE_TRY(ApplyRanks(flags, w));
  return w;
}

Result<Workload> MakeWorkload(const WorkloadFlags& flags) {
  REPRISE_ASSIGN(Workload w, DescribeWorkload(flags));
  REPRISE_TRY(CheckWithFlags(flags, w));
  return w;
}

}  // namespace reprise
