#include "predict/workload/job/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/input_file.h"
#include "core/output_kind.h"
#include "core/parse_json.h"
#include "predict/workload/job/generate.h"

namespace reprise {
namespace {

using FactsJson = nlohmann::ordered_json;

constexpr char kFormat[] = "reprise-job";
constexpr std::uint64_t kMaxFactsBytes = std::uint64_t{64} << 20;

// Name and member of what job.json has of a class.
template <typename Memory, typename Visitor>
void VisitMemory(Memory& memory, const Visitor& visit) {
  visit("stage", memory.stage);
  visit("first_rank", memory.first_rank);
  visit("ranks", memory.ranks);
  visit("parameters", memory.bytes.parameters);
  visit("gradients", memory.bytes.gradients);
  visit("optimizer", memory.bytes.optimizer);
  visit("activations", memory.bytes.activations);
  visit("layer_activations", memory.bytes.layer_activations);
  visit("peak", memory.bytes.peak);
}

template <typename Facts, typename Visitor>
void VisitFacts(Facts& facts, const Visitor& visit) {
  visit("ranks", facts.ranks);
  visit("samples", facts.samples);
  visit("tokens", facts.tokens);
  visit("model_flops", facts.model_flops);
  visit("executed_flops", facts.executed_flops);
  visit("micro_batch", facts.micro_batch);
}

// Sets of earlier versions lack them.
template <typename Facts, typename Visitor>
void VisitCounts(Facts& facts, const Visitor& visit) {
  visit("parameters", facts.parameters);
  visit("trainable_parameters", facts.trainable_parameters);
}

}  // namespace

std::int64_t JobFacts::PeakBytes() const {
  std::int64_t peak = 0;
  for (const ClassMemory& of_class : memory) {
    peak = std::max(peak, of_class.bytes.peak);
  }
  return peak;
}

JobFacts FactsOf(const Workload& workload, const GenerateSummary& summary) {
  return {.ranks = summary.ranks,
          .samples = workload.global_batch,
          .tokens = workload.model.vocab > 0 ? workload.global_batch * workload.model.sequence : 0,
          .parameters = summary.parameters,
          .trainable_parameters = summary.trainable_parameters,
          .dtype = workload.model.dtype,
          .model_flops = summary.model_flops,
          .executed_flops = summary.executed_flops,
          .micro_batch = workload.micro_batch,
          .stack = StackOf(workload),
          .model = KindOfModel(workload.model),
          .memory = summary.class_memory};
}

std::string JobFactsText(const JobFacts& facts) {
  FactsJson json = {{"format", kFormat}, {"version", 1}, {"dtype", Name(facts.dtype)}};
  for (const auto& [name, text] :
       {std::pair("stack", &facts.stack), std::pair("model", &facts.model)}) {
    if (!text->empty()) {
      json[name] = *text;
    }
  }
  VisitFacts(facts, [&json](const char* name, const auto& value) { json[name] = value; });
  VisitCounts(facts, [&json](const char* name, const auto& value) {
    if (value) {
      json[name] = *value;
    }
  });
  json["memory"] = FactsJson::array();
  for (const ClassMemory& memory : facts.memory) {
    FactsJson row;
    VisitMemory(memory, [&row](const char* name, const auto& value) { row[name] = value; });
    json["memory"].push_back(std::move(row));
  }
  return json.dump(1) + "\n";
}

Result<JobFacts> ParseJobFacts(std::string_view text, const std::string& origin) {
  JobFacts facts;
  try {
    const FactsJson json = ParseJson<FactsJson>(text);
    if (json.at("format") != kFormat || json.at("version") != 1) {
      return BadInput(fmt::format("{} is none of version 1; generate the set again", origin));
    }
    facts.dtype = ParseDType(json.at("dtype").get<std::string>());
    facts.stack = json.value("stack", "");
    facts.model = json.value("model", "");
    VisitFacts(facts, [&json](const char* name, auto& value) { json.at(name).get_to(value); });
    VisitCounts(facts, [&json](const char* name, auto& value) {
      if (json.contains(name)) {
        value = json.at(name).template get<std::int64_t>();
      }
    });
    for (const FactsJson& row : json.at("memory")) {
      VisitMemory(facts.memory.emplace_back(),
                  [&row](const char* name, auto& value) { row.at(name).get_to(value); });
    }
  } catch (const nlohmann::json::exception& error) {
    return BadInput(fmt::format("{}: {}; generate the set again", origin, error.what()));
  }
  return facts;
}

Result<std::optional<JobFacts>> ReadJobFacts(const std::string& directory) {
  const std::string path = (std::filesystem::path(directory) / kJobFile).string();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return std::nullopt;
  }
  REPRISE_ASSIGN(const std::string text, ReadJsonText(path, kMaxFactsBytes));
  REPRISE_ASSIGN(JobFacts facts, ParseJobFacts(text, path));
  return facts;
}

}  // namespace reprise
