// What a text stands for, of descriptions and of options alike.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/nearest.h"
#include "core/text.h"
#include "predict/workload/job/parse.h"
#include "predict/workload/ops/scaling.h"
#include "predict/workload/registry.h"
#include "predict/workload/schedule.h"

namespace reprise {

Status SetSchedule(const std::string& text, Workload& w) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const PipelineSchedule* const known = FindSchedule(name);
  std::int64_t chunks = known != nullptr && known->v_shaped ? 2 : 1;
  if (colon != std::string::npos) {
    chunks = ParseNumber<std::int64_t>(std::string_view(text).substr(colon + 1)).value_or(0);
    if (chunks < 1 || name != "interleaved") {
      return BadInput(
          fmt::format("schedule \"{}\": expected gpipe, 1f1b, zb-h1, zb-v, dualpipe-v or "
                      "interleaved:V with V chunks a stage",
                      text));
    }
  }
  REPRISE_TRY(CheckName(BuiltinSchedules(), "schedule", name));
  w.schedule = name;
  w.virtual_stages = chunks;
  return {};
}

Status SetRecompute(const std::string& text, Workload& w) {
  const auto recompute = ParseName<Recompute>(text);
  if (!recompute) {
    return BadInput(fmt::format("recompute is \"{}\"; expected none, selective or full{}", text,
                                DidYouMean<Recompute>(text)));
  }
  w.recompute = *recompute;
  return {};
}

Status SetRecomputeModules(const std::vector<std::string>& names, Workload& w) {
  const std::vector<std::string> known(std::begin(kRecomputeModules), std::end(kRecomputeModules));
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      return BadInput(fmt::format("recompute_modules \"{}\"; expected {}{}", name,
                                  fmt::join(known, ", "), DidYouMean(name, known)));
    }
  }
  w.recompute_modules.clear();
  for (const std::string& name : known) {  // in their order, once
    if (std::ranges::find(names, name) != names.end()) {
      w.recompute_modules.push_back(name);
    }
  }
  return {};
}

Status SetOverlap(const std::vector<std::string>& names, Workload& w) {
  w.overlap = {};
  for (const std::string& name : names) {
    if (name == "tp") {
      w.overlap.tp = true;
    } else if (name == "grad") {
      w.overlap.grad = true;
    } else if (name == "param") {
      w.overlap.param = true;
    } else if (name != "none") {
      return BadInput(fmt::format("overlap \"{}\"; expected tp, grad, param or none{}", name,
                                  DidYouMean(name, {"tp", "grad", "param", "none"})));
    }
  }
  return {};
}

Status SetRouting(const std::string& text, Workload& w) {
  if (text == "balanced") {
    w.routing.balanced = true;
    return {};
  }
  constexpr std::string_view kZipf = "zipf:";
  const auto exponent = text.starts_with(kZipf)
                            ? ParseNumber<double>(std::string_view(text).substr(kZipf.size()))
                            : std::nullopt;
  if (!exponent || !(*exponent >= 0 && *exponent <= 20)) {
    return BadInput(fmt::format(
        "routing \"{}\"; expected balanced, or zipf:A with an exponent A from 0 to 20", text));
  }
  w.routing.balanced = false;
  w.routing.zipf = *exponent;
  return {};
}

Status SetFp8(const std::string& text, Workload& w) {
  if (text != "none") {
    REPRISE_TRY(CheckName(BuiltinScalingRecipes(), "FP8 recipe", text));
  }
  w.fp8 = text;
  return {};
}

Status SetLoraTargets(const std::vector<std::string>& names, Lora& lora) {
  std::vector<std::string> known;
  for (const LoraTarget& target : kLoraTargets) {
    known.emplace_back(target.name);
    known.emplace_back(target.also);
  }
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      return BadInput(fmt::format("LoRA target \"{}\"; expected {}{}", name, fmt::join(known, ", "),
                                  DidYouMean(name, known)));
    }
  }
  lora.targets.clear();
  for (const LoraTarget& target : kLoraTargets) {  // in their order, once
    const bool given = std::ranges::any_of(names, [&target](const std::string& name) {
      return name == target.name || name == target.also;
    });
    if (given) {
      lora.targets.emplace_back(target.name);
    }
  }
  return {};
}

Status SetContextComm(const std::string& text, Layout& l) {
  const auto comm = ParseName<ContextComm>(text);
  if (!comm) {
    return BadInput(fmt::format(
        "cp_comm_type is \"{}\"; expected p2p (a ring), all_gather (keys and values gathered) or "
        "a2a (heads divided in place of the sequence){}",
        text, DidYouMean<ContextComm>(text)));
  }
  l.cp_comm_type = *comm;
  return {};
}

Status SetZero(std::int64_t stage, Layout& l) {
  if (stage < 0 || stage > 3) {
    return BadInput(
        fmt::format("\"zero\" is {}; expected 0 (nothing is divided), 1 (optimizer states), 2 "
                    "(gradients, too) or 3 (parameters, too)",
                    stage));
  }
  l.distributed_optimizer = stage == 1 || stage == 2;
  l.divided_gradients = stage == 2;
  l.fsdp = stage == 3;
  return {};
}

Status SetDType(const std::string& text, Workload& w) {
  const DType dtype = ParseDType(text);
  if (dtype != DType::kFloat32 && dtype != DType::kBFloat16 && dtype != DType::kFloat16) {
    return BadInput(fmt::format("dtype \"{}\"; expected bfloat16, float16 or float32", text));
  }
  w.model.dtype = dtype;
  return {};
}

}  // namespace reprise
