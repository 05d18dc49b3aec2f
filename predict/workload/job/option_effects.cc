// Options of a job that change nothing in it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "predict/workload/job/options.h"

namespace reprise {
namespace {

bool IsDlrm(const Workload& w) { return !w.model.tables.empty(); }

bool IsRing(const Workload& w) {
  return w.layout.cp > 1 && w.layout.cp_comm_type == ContextComm::kRing;
}

// Each gives the reason why the option has no effect; empty where it has one.
std::string WhyNoRouting(const JobOptions& /*options*/, const Workload& w) {
  return w.model.experts == 0 ? "says how tokens choose experts, and the model has none" : "";
}
std::string WhyNoSeed(const JobOptions& options, const Workload& w) {
  if (w.document_length > 0) {
    return "";
  }
  if (std::string why = WhyNoRouting(options, w); !why.empty()) {
    return why;
  }
  return w.routing.balanced ? "says which experts get more tokens, and with balanced routing none "
                              "does; give --routing zipf:A, too"
                            : "";
}
std::string WhyNoSequence(const JobOptions& /*options*/, const Workload& w) {
  return IsDlrm(w)            ? "is of tokens, and a recommendation model has none"
         : w.model.OfImages() ? "follows from the model's image and patches"
                              : "";
}
std::string WhyNoRecompute(const JobOptions& /*options*/, const Workload& w) {
  if (IsDlrm(w) && w.recompute != Recompute::kNone) {
    return "is of a transformer's layers, and a recommendation model has none";
  }
  return w.Recomputes(kCoreAttention) && w.recompute_modules.size() < 2 && IsRing(w)
             ? "is of attention with selective, and the ring of context parallelism keeps nothing "
               "more; take full"
             : "";
}
std::string WhyNoContextComm(const JobOptions& /*options*/, const Workload& w) {
  return w.layout.cp == 1 ? "says how context-parallel ranks share keys and values, and cp is 1"
                          : "";
}
std::string WhyNoParamGather(const JobOptions& options, const Workload& w) {
  return options.fp8_param_gather.value_or(false) && w.layout.dp * w.layout.cp == 1
             ? "gathers parameters in 8 bits, and dp is 1: none are gathered"
             : "";
}
std::string WhyNoLoraTargets(const JobOptions& /*options*/, const Workload& w) {
  return w.lora ? "" : "says which layers have adapters, and the job trains none; give --lora, too";
}
std::string WhyNoExperts(const JobOptions& options, const Workload& w) {
  return IsDlrm(w) && options.ep.value_or(w.layout.dp) != w.layout.dp
             ? fmt::format(
                   "follows from data parallelism ({}): a recommendation model's tables "
                   "are divided among all of these ranks",
                   w.layout.dp)
             : "";
}
std::string WhyNoShards(const JobOptions& options, const Workload& w) {
  return !w.layout.fsdp ? "is of fsdp, which is off; give --fsdp, too"
         : options.shards == w.layout.dp
             ? fmt::format("is what fsdp does without it: {} ranks divide the parameters",
                           w.layout.dp)
             : "";
}
std::string WhyNoDistributedOptimizer(const JobOptions& options, const Workload& w) {
  return options.distributed_optimizer.value_or(false) && w.layout.fsdp
             ? "divides optimizer states, which fsdp divides already"
             : "";
}
// Of several parts one is enough: scripts give the same list to all layouts.
std::string WhyNoOverlap(const JobOptions& options, const Workload& w) {
  const Layout& l = w.layout;
  std::string why;
  for (const std::string& part : *options.overlap) {
    if (part == "tp" && l.tp == 1) {
      why = "has tp, and there are no transfers of tensor parallelism: tp is 1";
    } else if (part == "grad" && l.dp * l.cp == 1) {
      why = "has grad, and no gradients are summed: dp is 1";
    } else if (part == "param" && !l.fsdp && !l.distributed_optimizer) {
      why = "has param, and no parameters are gathered; give --zero 1, 2 or 3, too";
    } else {
      return "";
    }
  }
  return why;
}

struct EffectOfOption {
  const char* name;
  std::vector<const char*> depends;  // on other options than the model
  std::string (*why)(const JobOptions& options, const Workload& workload);
};

const std::vector<EffectOfOption>& AllEffects() {
  static const std::vector<EffectOfOption> effects = {
      {"routing", {}, WhyNoRouting},
      {"seed", {"routing", "document-length"}, WhyNoSeed},
      {"sequence", {}, WhyNoSequence},
      {"recompute", {"cp", "cp-comm-type"}, WhyNoRecompute},
      {"cp-comm-type", {"cp"}, WhyNoContextComm},
      {"fp8-param-gather", {"dp", "ranks", "tp", "pp", "cp"}, WhyNoParamGather},
      {"lora-targets", {"lora"}, WhyNoLoraTargets},
      {"ep", {"dp", "ranks"}, WhyNoExperts},
      {"shards", {"fsdp", "zero", "dp", "ranks", "tp", "pp", "cp"}, WhyNoShards},
      {"distributed-optimizer", {"fsdp"}, WhyNoDistributedOptimizer},
      {"overlap",
       {"tp", "pp", "cp", "dp", "ranks", "fsdp", "distributed-optimizer", "zero"},
       WhyNoOverlap}};
  return effects;
}

}  // namespace

namespace {

// What a description of a model alone leaves open.
void NoteAssumptions(const Workload& w, std::vector<std::string>& notes) {
  std::vector<std::string> parts;
  std::vector<std::string> options;
  const auto add = [&](const char* option, std::string part) {
    if (w.assumed.contains(option)) {
      parts.push_back(std::move(part));
      options.push_back(fmt::format("--{}", option));
    }
  };
  add("sequence",
      fmt::format(
          "sequences of {} tokens{}", w.model.sequence,
          w.longest_sequence == 0 ? "" : fmt::format(" (the model takes {})", w.longest_sequence)));
  add("global-batch", fmt::format("a batch of {}", w.global_batch));
  add("micro-batch", fmt::format("micro-batches of {}", w.micro_batch));
  if (!parts.empty()) {
    notes.push_back(fmt::format("Assumed, for the description has the model alone: {}. Give {}.",
                                fmt::join(parts, ", "), fmt::join(options, ", ")));
  }
}

}  // namespace

std::vector<std::string> EffectNotes(const Workload& w) {
  std::vector<std::string> notes;
  NoteAssumptions(w, notes);
  if (w.Recomputes(kCoreAttention) && w.model.fused_attention && !IsRing(w)) {
    notes.push_back(fmt::format(
        "{} takes time and saves no memory here: attention is fused, and keeps no scores that "
        "could be computed again. Leave it out, or take {}.",
        w.recompute_modules.empty() ? "--recompute selective" : "--recompute-modules core_attn",
        w.recompute_modules.size() < 2 ? "full" : "the others alone"));
  }
  return notes;
}

Status CheckEffects(const JobOptions& options, const Workload& workload,
                    const std::set<std::string>& swept) {
  const auto given = GivenJobOptions(options);
  for (const EffectOfOption& effect : AllEffects()) {
    const bool may_have_one = std::ranges::any_of(
        effect.depends, [&swept](const char* name) { return swept.contains(name); });
    if (!given.contains(effect.name) || may_have_one) {
      continue;
    }
    if (const std::string why = effect.why(options, workload); !why.empty()) {
      return UsageError(fmt::format("--{}{} has no effect on {}: it {}; leave it out",
                                    swept.contains(effect.name) ? "sweep " : "", effect.name,
                                    options.what, why));
    }
  }
  return {};
}

}  // namespace reprise
