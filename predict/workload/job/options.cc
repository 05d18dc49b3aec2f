#include "predict/workload/job/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/nearest.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"

namespace reprise {
namespace {

std::vector<std::string> JobOptionNames() {
  std::vector<std::string> names;
  for (const JobOption& option : AllJobOptions()) {
    names.emplace_back(option.name);
  }
  return names;
}

std::vector<std::string> PartsOf(const std::string& text) {
  const std::vector<std::string_view> parts = SplitText(text, '+');
  return {parts.begin(), parts.end()};
}

Result<std::int64_t> ParseOptionNumber(const JobOption& option, const std::string& text) {
  const auto number = ParseNumber<std::int64_t>(text);
  if (!number || *number < option.least) {
    return UsageError(fmt::format("{}={}: expected a whole number of at least {}", option.name,
                                  ShownText(text), option.least));
  }
  return *number;
}

// Options go over what the description says. What an option breaks is a usage error, what the
// description breaks is bad input.
Status AsUsage(Status status) {
  return status ? status : Status(UsageError(status.error().message));
}

// A rule's message has a description's fields; what an option gave is called by the option.
std::string AsOptions(const JobOptions& options, std::string message) {
  const auto given = GivenJobOptions(options);
  for (const auto& [field, option] :
       {std::pair("batch.global", "global-batch"), std::pair("batch.micro", "micro-batch"),
        std::pair("layout.tp", "tp"), std::pair("layout.pp", "pp"), std::pair("layout.dp", "dp"),
        std::pair("layout.ep", "ep"), std::pair("etp", "etp"), std::pair("layout.cp", "cp"),
        std::pair("sequence", "sequence"), std::pair("steps", "steps"), std::pair("zero", "zero"),
        std::pair("recompute_modules", "recompute-modules"),
        std::pair("recompute_layers", "recompute-layers"), std::pair("lora.rank", "lora"),
        std::pair("lora.targets", "lora-targets")}) {
    const std::string quoted = fmt::format("\"{}\"", field);
    const std::size_t at = message.find(quoted);
    if (given.contains(option) && at != std::string::npos) {
      message.replace(at, quoted.size(), fmt::format("--{}", option));
    }
  }
  return message;
}

Status ApplyLayout(const JobOptions& options, Workload& w) {
  Layout& l = w.layout;
  if (options.zero && (options.fsdp || options.distributed_optimizer)) {
    return UsageError(
        fmt::format("--zero {} and --{} say both what data-parallel ranks divide: give one of them",
                    *options.zero, options.fsdp ? "fsdp" : "distributed-optimizer"));
  }
  if (options.zero) {
    REPRISE_TRY(AsUsage(SetZero(*options.zero, l)));
  }
  const auto set = [](const std::optional<std::int64_t>& flag, std::int64_t& to) {
    to = flag.value_or(to);
  };
  if (options.pp && *options.pp != l.pp) {
    l.layers_per_stage.clear();  // they were of other stages
  }
  set(options.tp, l.tp);
  set(options.pp, l.pp);
  set(options.cp, l.cp);
  set(options.dp, l.dp);
  set(options.ep, l.ep);
  set(options.etp, l.etp);
  if (options.cp_comm_type) {
    REPRISE_TRY(AsUsage(SetContextComm(*options.cp_comm_type, l)));
  }
  l.layers_per_stage = options.layers_per_stage.value_or(l.layers_per_stage);
  l.fsdp = options.fsdp.value_or(l.fsdp);
  l.shards = l.fsdp ? options.shards.value_or(l.shards) : options.shards.value_or(0);
  l.distributed_optimizer = options.distributed_optimizer.value_or(l.distributed_optimizer) &&
                            !options.fsdp.value_or(false);
  l.divided_gradients = l.divided_gradients && l.distributed_optimizer;
  l.sequence_parallel = options.sp.value_or(l.sequence_parallel && l.tp > 1);
  return {};
}

// Data parallelism follows from the number of ranks. The rest of the workload is complete.
Status ApplyRanks(const JobOptions& options, Workload& w) {
  Layout& l = w.layout;
  if (!options.ranks) {
    return {};
  }
  const std::int64_t each = l.tp * l.pp * l.cp;
  if (options.dp && each * l.dp != *options.ranks) {
    return UsageError(fmt::format("--ranks {} is not tp {} x pp {} x cp {} x dp {} = {}",
                                  *options.ranks, l.tp, l.pp, l.cp, l.dp, each * l.dp));
  }
  if (each <= 0 || *options.ranks % each != 0) {
    return UsageError(fmt::format("--ranks {} is not a multiple of {} (tp {} x pp {} x cp {})",
                                  *options.ranks, each, l.tp, l.pp, l.cp));
  }
  l.dp = *options.ranks / each;
  return {};
}

Status ApplyStep(const JobOptions& options, Workload& w) {
  if (options.schedule) {
    const std::int64_t chunks = w.virtual_stages;
    REPRISE_TRY(AsUsage(SetSchedule(*options.schedule, w)));
    if (w.virtual_stages != chunks &&
        static_cast<std::int64_t>(w.layout.layers_per_stage.size()) != w.layout.pp) {
      w.layout.layers_per_stage.clear();
    }
  }
  if (options.recompute) {
    REPRISE_TRY(AsUsage(SetRecompute(*options.recompute, w)));
  }
  if (options.recompute_modules) {
    REPRISE_TRY(AsUsage(SetRecomputeModules(*options.recompute_modules, w)));
  } else if (options.recompute && w.recompute != Recompute::kSelective) {
    w.recompute_modules.clear();  // they were of the description's
  }
  w.recompute_layers = options.recompute_layers.value_or(w.recompute_layers);
  if (options.lora) {
    w.lora = w.lora.value_or(Lora{});
    w.lora->rank = *options.lora;
  }
  if (options.lora_targets) {
    Lora lora = w.lora.value_or(Lora{});
    REPRISE_TRY(AsUsage(SetLoraTargets(*options.lora_targets, lora)));
    if (w.lora) {  // without adapters the option has no effect (CheckEffects)
      w.lora = std::move(lora);
    }
  }
  if (options.dtype) {
    REPRISE_TRY(AsUsage(SetDType(*options.dtype, w)));
  }
  if (options.fp8) {
    REPRISE_TRY(AsUsage(SetFp8(*options.fp8, w)));
  }
  w.fp8_param_gather = options.fp8_param_gather.value_or(w.fp8_param_gather);
  if (options.routing) {
    REPRISE_TRY(AsUsage(SetRouting(*options.routing, w)));
  }
  if (options.overlap) {
    REPRISE_TRY(AsUsage(SetOverlap(*options.overlap, w)));
  }
  return {};
}

// A rule that the workload breaks only because of the options is a usage error.
Status CheckWithOptions(const JobOptions& options, const Workload& w) {
  Status checked = CheckWorkload(w);
  if (checked) {
    return checked;
  }
  const JobOptions none = {.what = options.what};
  REPRISE_ASSIGN(const Workload described, DescribeJob(none));
  return CheckWorkload(described)
             ? Status(UsageError(AsOptions(options, checked.error().message)))
             : BadInput(fmt::format("{}: {}", ShownText(options.what), checked.error().message));
}

}  // namespace

std::span<const JobOption> AllJobOptions() {
  using F = JobOptions;
  using enum JobOption::Part;
  static const JobOption options[] = {
      {"name", kName, "name of the trace set (default: the preset's or file's)", &F::name},
      {"ranks", kLayout, "number of ranks; data parallelism follows", &F::ranks},
      {"tp", kLayout, "tensor parallelism", &F::tp},
      {"pp", kLayout, "stages of the pipeline", &F::pp},
      {"dp", kLayout, "data parallelism", &F::dp},
      {"ep", kLayout, "expert parallelism, among data-parallel ranks", &F::ep},
      {"etp", kLayout,
       "ranks that divide an expert's matrices, if others than tensor-parallel ranks", &F::etp},
      {"cp", kLayout, "context parallelism", &F::cp},
      {"cp-comm-type", kLayout,
       "context parallelism by p2p (a ring), all_gather (of keys and values) or a2a (heads "
       "divided)",
       &F::cp_comm_type},
      {"layers-per-stage", kLayout, "layers of each stage, as in 7,8,7", &F::layers_per_stage},
      {"fsdp", kLayout, "parameters, gradients and optimizer states divided", &F::fsdp},
      {"shards", kLayout,
       "FSDP: ranks that divide the parameters; groups of them are replicas (HSDP)", &F::shards},
      {"sp", kLayout, "sequence parallelism within tensor parallelism", &F::sp},
      {"distributed-optimizer", kLayout, "optimizer states divided among data-parallel ranks",
       &F::distributed_optimizer},
      {"zero", kLayout,
       "divided among data-parallel ranks: 0 nothing, 1 optimizer states, 2 gradients, too, 3 "
       "parameters, too (--fsdp)",
       &F::zero, 0},
      {"global-batch", kStep, "sequences, images or samples of a step", &F::global_batch},
      {"micro-batch", kStep, "those of one pass on one rank", &F::micro_batch},
      {"sequence", kStep, "tokens of a sequence", &F::sequence},
      {"documents", kStep,
       "tokens of the documents that are packed in each sequence, as in 512,3584", &F::documents},
      {"document-length", kStep, "mean of such documents, whose lengths are drawn",
       &F::document_length},
      {"steps", kStep, "steps to write", &F::steps},
      {"schedule", kStep,
       "gpipe, 1f1b, zb-h1 or zb-v (zero bubble), dualpipe-v, or interleaved:V with V chunks a "
       "stage",
       &F::schedule},
      {"recompute", kStep, "activations computed again: none, selective (attention), full (layers)",
       &F::recompute},
      {"recompute-layers", kStep,
       "full recomputation of so many layers of each chunk, in place of all", &F::recompute_layers},
      {"recompute-modules", kStep,
       "selective recomputation of these: core_attn, mlp, moe, shared_experts (default: core_attn)",
       &F::recompute_modules},
      {"lora", kStep,
       "train low-rank adapters of this rank alone (LoRA), and none of the model's weights",
       &F::lora},
      {"lora-targets", kStep,
       "linear layers with adapters (default: linear_qkv, linear_proj, linear_fc1, linear_fc2)",
       &F::lora_targets},
      {"overlap", kStep, "transfers beside computation: tp, grad, param, or none", &F::overlap},
      {"dtype", kStep, "bfloat16, float16 or float32", &F::dtype},
      {"fp8", kStep,
       "products in 8 or 4 bits: none, delayed, tensorwise, blockwise, mxfp8 or nvfp4 "
       "(docs/guides/generate.md)",
       &F::fp8},
      {"fp8-param-gather", kStep,
       "matrices stored in 8 bits, in which the distributed optimizer gathers them",
       &F::fp8_param_gather},
      {"routing", kStep, "of tokens to experts, in models with experts: balanced, or zipf:A",
       &F::routing},
      {"stack", kStep,
       "software stack that a prediction is of (`reprise list stacks`), a file (docs/stacks.md), "
       "or "
       "none",
       &F::stack},
      {"seed", kStep, "of the routing, if that is not balanced, and of drawn documents", &F::seed,
       0},
  };
  return options;
}

const JobOption* FindJobOption(std::string name) {
  std::ranges::replace(name, '_', '-');
  const auto found = std::ranges::find_if(
      AllJobOptions(), [&](const JobOption& option) { return name == option.name; });
  return found == AllJobOptions().end() ? nullptr : &*found;
}

Status SetJobOption(const std::string& name, const std::string& text, JobOptions& options) {
  const JobOption* const option = FindJobOption(name);
  if (option == nullptr) {
    return UsageError(fmt::format("the options of a job have no '{}'{}", ShownText(name),
                                  DidYouMean(name, JobOptionNames())));
  }
  const auto set = [&](auto member) -> Status {
    using Member = decltype(member);
    if constexpr (std::is_same_v<Member, JobOption::Switch>) {
      if (text != "on" && text != "off") {
        return UsageError(fmt::format("{}={}: expected on or off", option->name, ShownText(text)));
      }
      options.*member = text == "on";
    } else if constexpr (std::is_same_v<Member, JobOption::Number>) {
      REPRISE_ASSIGN(options.*member, ParseOptionNumber(*option, text));
    } else if constexpr (std::is_same_v<Member, JobOption::Text>) {
      options.*member = text;
    } else if constexpr (std::is_same_v<Member, JobOption::Texts>) {
      options.*member = PartsOf(text);
    } else {
      std::vector<std::int64_t> numbers;
      for (const std::string& part : PartsOf(text)) {
        REPRISE_ASSIGN(numbers.emplace_back(), ParseOptionNumber(*option, part));
      }
      options.*member = std::move(numbers);
    }
    return {};
  };
  return std::visit(set, option->member);
}

std::map<std::string, std::string> GivenJobOptions(const JobOptions& options) {
  std::map<std::string, std::string> given;
  for (const JobOption& option : AllJobOptions()) {
    const auto text = [&options](auto member) -> std::optional<std::string> {
      if (!(options.*member)) {
        return std::nullopt;
      }
      const auto& value = *(options.*member);
      if constexpr (std::is_same_v<decltype(member), JobOption::Switch>) {
        return value ? "on" : "off";
      } else if constexpr (std::is_same_v<decltype(member), JobOption::Numbers> ||
                           std::is_same_v<decltype(member), JobOption::Texts>) {
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

Result<Workload> DescribeJob(const JobOptions& options) {
  REPRISE_ASSIGN(Workload w, ReadWorkload(options.what));
  REPRISE_TRY(ApplyStep(options, w));
  REPRISE_TRY(ApplyLayout(options, w));
  for (const auto& [name, text] : GivenJobOptions(options)) {
    w.assumed.erase(name);
  }
  w.global_batch = options.global_batch.value_or(w.global_batch);
  w.micro_batch = options.micro_batch.value_or(w.micro_batch);
  w.model.sequence = options.sequence.value_or(w.model.sequence);
  if (options.documents && options.document_length) {
    return UsageError(
        "--documents and --document-length both say what a sequence holds: give one of them");
  }
  if (options.documents) {
    w.documents = *options.documents;
    w.document_length = 0;
  }
  w.document_length = options.document_length.value_or(w.document_length);
  w.steps = options.steps.value_or(w.steps);
  w.routing.seed =
      static_cast<std::uint64_t>(options.seed.value_or(static_cast<std::int64_t>(w.routing.seed)));
  w.stack = options.stack.value_or(w.stack);
  w.name = options.name.value_or(w.name);
  CompleteWorkload(w);
  REPRISE_TRY(ApplyRanks(options, w));
  if (w.assumed.contains("global-batch")) {
    w.global_batch = w.layout.ranks() * w.micro_batch;  // one pass of each rank
  }
  return w;
}

Result<Workload> MakeJob(const JobOptions& options) {
  REPRISE_ASSIGN(Workload w, DescribeJob(options));
  REPRISE_TRY(CheckWithOptions(options, w));
  return w;
}

}  // namespace reprise
