// Sweep files: docs/sweep_format.md.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/input_file.h"
#include "core/json_fields.h"
#include "core/nearest.h"
#include "core/parse_json.h"
#include "core/shown_text.h"
#include "predict/sweep/embedded_sweeps.h"
#include "predict/sweep/option_names.h"
#include "predict/sweep/sweep.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".json";
constexpr std::uint64_t kMaxSweepBytes = std::uint64_t{4} << 20;
const std::vector<std::string> kSweepFields = {"format",   "version", "about",  "source",
                                               "machine",  "options", "models", "layouts",
                                               "settings", "vary"};
const std::vector<std::string> kModelFields = {"name", "job", "options", "layouts", "settings"};

// A layout, a setting, or a value of a key that is varied.
struct Choice {
  std::string name;
  GivenOptions options;
};

std::string_view NameOfFile(const EmbeddedFile& sweep) {
  return sweep.name.substr(0, sweep.name.size() - kEnding.size());
}

class SweepFile {
 public:
  SweepFile(std::string name, std::string origin) : origin_(std::move(origin)) {
    sweep_.name = std::move(name);
  }

  Result<Sweep> Read(const Json& json) {
    REPRISE_TRY(CheckFields(json, "the sweep", kSweepFields));
    if (json.value("format", Json()) != "reprise-sweep-file" ||
        json.value("version", Json()) != 1) {
      return Wrong("expected \"format\": \"reprise-sweep-file\" and \"version\": 1");
    }
    if (!json.contains("models") || !json["models"].is_array() || json["models"].empty()) {
      return Wrong("\"models\": expected a list of presets or of {\"job\": …}");
    }
    REPRISE_ASSIGN(sweep_.machine, TextOf(json, "machine"));
    REPRISE_ASSIGN(const GivenOptions shared, OptionsIn(json, "options"));
    REPRISE_TRY(ReadVaried(json));
    sweep_.several_models = json["models"].size() > 1;
    for (const Json& model : json["models"]) {
      REPRISE_TRY(AddModel(json, model, shared));
    }
    CollectKeys();
    return std::move(sweep_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Wrong(const std::string& what) const {
    return BadInput(fmt::format("{}: {} (docs/sweep_format.md)", origin_, what));
  }

  [[nodiscard]] Status CheckFields(const Json& json, std::string_view where,
                                   const std::vector<std::string>& known) const {
    if (!json.is_object()) {
      return Wrong(fmt::format("{} is no object", where));
    }
    for (const auto& [key, value] : json.items()) {
      if (std::ranges::find(known, key) == known.end()) {
        return Wrong(
            fmt::format("{} has no field \"{}\"{}", where, ShownText(key), DidYouMean(key, known)));
      }
    }
    return {};
  }

  [[nodiscard]] Result<std::string> TextOf(const Json& json, const char* key) const {
    const auto at = json.find(key);
    if (at == json.end()) {
      return std::string();
    }
    return at->is_string() ? Result<std::string>(at->get<std::string>())
                           : Wrong(fmt::format("\"{}\": expected a text", key));
  }

  // As SetJobOption takes it: 8, true, "tp+grad", ["tp", "grad"].
  [[nodiscard]] Result<std::string> OptionText(const std::string& key, const Json& value) const {
    if (value.is_string()) {
      return value.get<std::string>();
    }
    if (value.is_boolean()) {
      return std::string(value.get<bool>() ? "on" : "off");
    }
    if (value.is_number_integer()) {
      return value.dump();
    }
    std::string text;
    for (const Json& part : value.is_array() ? value : Json::array()) {
      REPRISE_ASSIGN(const std::string of_part, OptionText(key, part));
      text += (text.empty() ? "" : "+") + of_part;
    }
    return text.empty() ? Result<std::string>(Wrong(fmt::format(
                              "\"{}\" is {}; expected a number, a text, true, false or a list",
                              ShownText(key), ShownText(value.dump()))))
                        : text;
  }

  // Of an object all members but "name", each checked.
  [[nodiscard]] Result<GivenOptions> Options(const Json& json, std::string_view where) const {
    if (!json.is_object()) {
      return Wrong(fmt::format("{}: expected an object of options, as in {{\"tp\": 8}}", where));
    }
    GivenOptions options;
    JobOptions tried;
    for (const auto& [key, value] : json.items()) {
      if (key != "name") {
        REPRISE_ASSIGN(std::string text, OptionText(key, value));
        if (const Status set = SetJobOption(key, text, tried); !set) {
          return Wrong(fmt::format("{}: {}", where, set.error().message));
        }
        options.emplace_back(FindJobOption(key)->name, std::move(text));
      }
    }
    return options;
  }
  [[nodiscard]] Result<GivenOptions> OptionsIn(const Json& json, const char* key) const {
    return json.contains(key) ? Options(json[key], key) : GivenOptions{};
  }

  // A list of choices. One that does nothing where the file has none.
  [[nodiscard]] Result<std::vector<Choice>> ChoicesOf(const Json& json, const Json& model,
                                                      const char* key) const {
    const Json* const list = model.is_object() && model.contains(key) ? &model[key]
                             : json.contains(key)                     ? &json[key]
                                                                      : nullptr;
    if (list == nullptr) {
      return std::vector<Choice>{{}};
    }
    if (!list->is_array() || list->empty()) {
      return Wrong(fmt::format("\"{}\": expected a list of objects", key));
    }
    std::vector<Choice> choices;
    for (const Json& json_choice : *list) {
      REPRISE_ASSIGN(GivenOptions options, Options(json_choice, key));
      REPRISE_ASSIGN(std::string name, TextOf(json_choice, "name"));
      name = name.empty() ? NameOf(options) : name;
      if (name.empty() ||
          std::ranges::any_of(choices, [&](const Choice& other) { return other.name == name; })) {
        return Wrong(fmt::format("\"{}\": {}", key,
                                 name.empty() ? "an entry has neither options nor a \"name\""
                                              : "two are called " + ShownText(name)));
      }
      choices.push_back({std::move(name), std::move(options)});
    }
    return choices;
  }

  Status ReadVaried(const Json& json) {
    const Json vary = json.value("vary", Json::object());
    if (!vary.is_object()) {
      return Wrong(R"("vary": expected an object of lists, as in {"micro-batch": [1, 2]})");
    }
    for (const auto& [key, values] : vary.items()) {
      if (!values.is_array() || values.empty()) {
        return Wrong(fmt::format("\"vary\": {}: expected a list of values", ShownText(key)));
      }
      std::vector<Choice> choices;
      for (const Json& value : values) {
        REPRISE_ASSIGN(GivenOptions option, Options(Json{{key, value}}, "vary"));
        choices.push_back({option.front().second, std::move(option)});
      }
      varied_.emplace_back(FindJobOption(key)->name, std::move(choices));
    }
    return {};
  }

  Status AddModel(const Json& json, const Json& model, const GivenOptions& shared) {
    SweepJob job;
    for (const auto& [key, text] : shared) {
      REPRISE_TRY(SetJobOption(key, text, job.options));
    }
    if (model.is_object()) {
      REPRISE_TRY(CheckFields(model, "a model", kModelFields));
      REPRISE_ASSIGN(job.options.what, TextOf(model, "job"));
      REPRISE_ASSIGN(job.model, TextOf(model, "name"));
      REPRISE_ASSIGN(const GivenOptions own, OptionsIn(model, "options"));
      for (const auto& [key, text] : own) {
        REPRISE_TRY(SetJobOption(key, text, job.options));
      }
    } else if (model.is_string()) {
      job.options.what = model.get<std::string>();
    }
    if (job.options.what.empty()) {
      return Wrong("a model names no \"job\": expected a preset or the file of a description");
    }
    job.model = job.model.empty() ? fs::path(job.options.what).stem().string() : job.model;
    REPRISE_ASSIGN(const std::vector<Choice> layouts, ChoicesOf(json, model, "layouts"));
    REPRISE_ASSIGN(const std::vector<Choice> settings, ChoicesOf(json, model, "settings"));
    for (const Choice& layout : layouts) {
      for (const Choice& setting : settings) {
        SweepJob of_setting = job;
        of_setting.layout = layout.name;
        of_setting.setting = setting.name;
        for (const Choice* const choice : {&layout, &setting}) {
          for (const auto& [key, text] : choice->options) {
            REPRISE_TRY(SetJobOption(key, text, of_setting.options));
          }
        }
        REPRISE_TRY(AddVaried(of_setting, 0));
      }
    }
    return {};
  }

  // All values of the varied keys from the k-th on.
  Status AddVaried(const SweepJob& job, std::size_t k) {
    if (k == varied_.size()) {
      if (const std::uint64_t most = CurrentInputLimits().jobs; sweep_.jobs.size() >= most) {
        return Wrong(
            fmt::format("more than {} configurations; --limits jobs=… raises the limit", most));
      }
      sweep_.jobs.push_back(job);
      return {};
    }
    for (const Choice& choice : varied_[k].second) {
      SweepJob next = job;
      next.values.push_back(choice.name);
      REPRISE_TRY(SetJobOption(varied_[k].first, choice.name, next.options));
      REPRISE_TRY(AddVaried(next, k + 1));
    }
    return {};
  }

  // The names of models, layouts and settings come before the varied keys.
  void CollectKeys() {
    std::vector<std::pair<std::string, std::string SweepJob::*>> named = {
        {"model", &SweepJob::model},
        {"layout", &SweepJob::layout},
        {"setting", &SweepJob::setting}};
    std::erase_if(named, [this](const auto& key) {
      return std::ranges::all_of(sweep_.jobs,
                                 [&](const SweepJob& job) { return (job.*key.second).empty(); });
    });
    for (SweepJob& job : sweep_.jobs) {
      for (std::size_t k = named.size(); k-- > 0;) {
        job.values.insert(job.values.begin(), job.*named[k].second);
      }
    }
    for (const auto& [name, member] : named) {
      sweep_.keys.push_back({.name = name});
    }
    for (const auto& [name, choices] : varied_) {
      sweep_.keys.push_back({.name = name});
    }
    for (const SweepJob& job : sweep_.jobs) {
      for (std::size_t k = 0; k < sweep_.keys.size(); ++k) {
        std::vector<std::string>& values = sweep_.keys[k].values;
        if (std::ranges::find(values, job.values[k]) == values.end()) {
          values.push_back(job.values[k]);
        }
      }
    }
  }

  std::string origin_;
  std::vector<std::pair<std::string, std::vector<Choice>>> varied_;
  Sweep sweep_;
};

bool IsPath(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(kEnding);
}

}  // namespace

Result<Sweep> ParseSweep(std::string_view text, const std::string& name,
                         const std::string& origin) {
  const Json json = ParseJson<Json>(text, /*throws=*/false);
  if (json.is_discarded()) {
    return BadInput(
        fmt::format("{}: no JSON; expected a sweep file (docs/sweep_format.md)", origin));
  }
  return SweepFile(name, origin).Read(json);
}

Result<Sweep> ReadSweep(const std::string& name_or_path) {
  for (const EmbeddedFile& sweep : EmbeddedSweeps()) {
    if (NameOfFile(sweep) == name_or_path) {
      return ParseSweep(sweep.text, name_or_path, fmt::format("{} (built in)", sweep.name));
    }
  }
  REPRISE_ASSIGN(const std::string text, ReadJsonText(name_or_path, kMaxSweepBytes));
  return ParseSweep(text, fs::path(name_or_path).stem().string(), ShownText(name_or_path));
}

bool IsSweep(const std::string& name_or_path) {
  if (std::ranges::any_of(EmbeddedSweeps(), [&](const EmbeddedFile& sweep) {
        return NameOfFile(sweep) == name_or_path;
      })) {
    return true;
  }
  std::error_code error;
  if (!IsPath(name_or_path) || !fs::is_regular_file(name_or_path, error)) {
    return false;
  }
  const Result<std::string> text = ReadJsonText(name_or_path, kMaxSweepBytes);
  const Json json = text ? ParseJson<Json>(*text, /*throws=*/false) : Json();
  return json.is_object() && json.contains("models");
}

std::vector<BuiltinSweep> BuiltinSweeps() {
  std::vector<BuiltinSweep> sweeps;
  for (const EmbeddedFile& file : EmbeddedSweeps()) {
    const Json json = ParseJson<Json>(file.text, /*throws=*/false);
    const std::string name(NameOfFile(file));
    const Result<Sweep> sweep = ParseSweep(file.text, name, name);  // tests read every one
    sweeps.push_back({.name = name,
                      .about = json.value("about", ""),
                      .source = json.value("source", ""),
                      .machine = json.value("machine", ""),
                      .jobs = sweep ? sweep->jobs.size() : 0});
  }
  return sweeps;
}

}  // namespace reprise
