#include "converters/astra_text/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reprise::astra_text {
namespace {

constexpr std::array<std::string_view, 5> kScopeNames = {"world", "model", "data", "expert",
                                                         "expert_data"};

bool UsesExperts(const Workload& workload) {
  const auto expert = [](const Phase& phase) {
    return phase.transfer && (phase.scope == Scope::kExpert || phase.scope == Scope::kExpertData);
  };
  return std::any_of(workload.layers.begin(), workload.layers.end(), [&](const Layer& layer) {
    return expert(layer.forward) || expert(layer.input_gradient) || expert(layer.weight_gradient);
  });
}

}  // namespace

std::string_view ScopeName(Scope scope) { return kScopeNames.at(static_cast<std::size_t>(scope)); }

Result<Groups> Groups::Create(const std::string& path, const Workload& workload,
                              std::int32_t ranks) {
  Groups out;
  out.ranks_ = ranks;
  out.model_ = workload.model_parallel;
  if (UsesExperts(workload)) {
    if (workload.expert_parallel < 1) {
      return BadInput(fmt::format(
          "{}: line 1: transfers of experts (_EP) need \"ep: N\", the ranks that share them",
          path));
    }
    out.model_ = std::max<std::int64_t>(out.model_, 1);
    out.expert_ = workload.expert_parallel;
  }
  const std::int64_t stages = workload.pipeline_parallel;
  out.stage_ = ranks / stages;
  if (stages > 1) {
    out.model_ = std::max<std::int64_t>(out.model_, 1);
  }
  if (out.model_ > 0 && (ranks % stages != 0 || out.stage_ % out.model_ != 0 ||
                         out.stage_ / out.model_ % out.expert_ != 0)) {
    return BadInput(fmt::format(
        "{}: line 1: {} ranks are no whole number of groups of {} model-parallel and {} "
        "expert-parallel ranks in {} pipeline stages; choose another --ranks",
        path, ranks, out.model_, out.expert_, stages));
  }
  return out;
}

std::int64_t Groups::SizeOf(Scope scope) const {
  if (model_ == 0) {
    return ranks_;
  }
  switch (scope) {
    case Scope::kWorld:
      return ranks_;
    case Scope::kModel:
      return model_;
    case Scope::kData:
      return stage_ / model_;
    case Scope::kExpert:
      return expert_;
    case Scope::kExpertData:
      return stage_ / model_ / expert_;
  }
  return ranks_;
}

std::int64_t Groups::NumberOf(Scope scope, std::int32_t rank) const {
  const std::int64_t stage = rank / stage_;
  const std::int64_t row = rank % stage_ / model_;
  const std::int64_t place = rank % model_;
  const std::int64_t rows = stage_ / model_;
  switch (scope) {
    case Scope::kModel:
      return stage * rows + row;
    case Scope::kData:
      return stage * model_ + place;
    case Scope::kExpert:
      return (stage * (rows / expert_) + row / expert_) * model_ + place;
    case Scope::kExpertData:
      return (stage * expert_ + row % expert_) * model_ + place;
    case Scope::kWorld:
      break;
  }
  return 0;
}

std::string Groups::IdOf(Scope scope, std::int32_t rank) const {
  if (SizeOf(scope) == ranks_) {
    return "0";
  }
  std::int64_t first = 1;
  for (const Scope before : {Scope::kModel, Scope::kData, Scope::kExpert, Scope::kExpertData}) {
    if (before == scope) {
      break;
    }
    first += ranks_ / SizeOf(before);
  }
  return std::to_string(first + NumberOf(scope, rank));
}

std::string Groups::IdOf(std::string_view scope_name, std::int32_t rank) const {
  const auto* const at = std::find(kScopeNames.begin(), kScopeNames.end(), scope_name);
  return IdOf(static_cast<Scope>(at - kScopeNames.begin()), rank);
}

std::map<std::string, ProcessGroup> Groups::All() const {
  std::map<std::string, ProcessGroup> out;
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    for (const Scope scope :
         {Scope::kWorld, Scope::kModel, Scope::kData, Scope::kExpert, Scope::kExpertData}) {
      if (SizeOf(scope) < 2 && scope != Scope::kWorld) {
        continue;
      }
      const std::string id = IdOf(scope, rank);
      ProcessGroup& group = out[id];
      group.id = id;
      group.description = id == "0" ? "all ranks" : ScopeName(scope);
      if (group.ranks.empty() || group.ranks.back() != rank) {
        group.ranks.push_back(rank);
      }
    }
  }
  return out;
}

}  // namespace reprise::astra_text
