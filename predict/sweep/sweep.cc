#include "predict/sweep/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/input_file.h"
#include "core/nearest.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "predict/sweep/option_names.h"
#include "predict/workload/job/parse.h"

namespace reprise {
namespace {

// Names and values as they stand, no key and no value twice.
Result<std::vector<SweepKey>> SplitKeys(const std::vector<std::string>& texts) {
  std::vector<SweepKey> keys;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    SweepKey key{.name = text.substr(0, equals)};
    std::ranges::replace(key.name, '_', '-');
    if (equals == std::string::npos || equals + 1 == text.size()) {
      return UsageError(
          fmt::format("{}: expected KEY=VALUE,VALUE, as in tp=1,2,4,8", ShownText(text)));
    }
    if (std::ranges::any_of(keys, [&](const SweepKey& other) { return other.name == key.name; })) {
      return UsageError(fmt::format("{} is given twice", ShownText(key.name)));
    }
    const std::vector<std::string_view> values =
        SplitText(std::string_view(text).substr(equals + 1), ',');
    key.values.assign(values.begin(), values.end());
    std::set<std::string> seen;
    for (const std::string& value : key.values) {
      if (!seen.insert(value).second) {
        return UsageError(fmt::format("{}: a value is given twice", ShownText(text)));
      }
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

Status CheckValues(const SweepKey& key, JobOptions& tried) {
  for (const std::string& value : key.values) {
    REPRISE_TRY(SetJobOption(key.name, value, tried));
  }
  return {};
}

// A key that the job gives, too, that is no part of layout or step, or that has no effect.
Status CheckKeys(const std::vector<SweepKey>& keys, const JobOptions& job) {
  const auto given = GivenJobOptions(job);
  JobOptions all = job;
  std::set<std::string> swept;
  for (const SweepKey& key : keys) {
    if (key.name == "name") {
      return UsageError("name=…: expected an option of layout or step, as in tp=1,2");
    }
    if (const auto option = given.find(key.name); option != given.end()) {
      return UsageError(fmt::format("--{0} {1} and {0}=… both say {0}; leave one of them out",
                                    key.name, ShownText(option->second)));
    }
    REPRISE_TRY(CheckValues(key, all));
    swept.insert(key.name);
  }
  // What cannot be is a row of the sweep, with its reason.
  const Result<Workload> described = DescribeJob(all);
  return described ? CheckEffects(all, *described, swept) : Status{};
}

std::size_t IndexOf(const std::vector<std::string>& texts, const std::string& text) {
  return static_cast<std::size_t>(std::ranges::find(texts, text) - texts.begin());
}

}  // namespace

Result<Sweep> SweepOfJob(const JobOptions& job, const std::vector<std::string>& texts) {
  Sweep sweep{.name = std::filesystem::path(job.what).stem().string()};
  REPRISE_ASSIGN(sweep.keys, SplitKeys(texts));
  REPRISE_ASSIGN([[maybe_unused]] const Workload known, ReadWorkload(job.what));
  REPRISE_TRY(CheckKeys(sweep.keys, job));
  std::size_t count = 1;
  for (const SweepKey& key : sweep.keys) {
    count *= key.values.size();
    if (const std::uint64_t most = CurrentInputLimits().jobs; count > most) {
      return UsageError(
          fmt::format("more than {} configurations; --limits jobs=… raises the limit", most));
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    SweepJob& row = sweep.jobs.emplace_back();
    row.options = job;
    row.model = sweep.name;
    row.values.resize(sweep.keys.size());
    std::size_t rest = i;
    for (std::size_t k = sweep.keys.size(); k-- > 0;) {
      const std::vector<std::string>& values = sweep.keys[k].values;
      row.values[k] = values[rest % values.size()];
      rest /= values.size();
    }
    GivenOptions layout, setting;
    for (std::size_t k = 0; k < sweep.keys.size(); ++k) {
      REPRISE_TRY(SetJobOption(sweep.keys[k].name, row.values[k], row.options));
      const JobOption& option = *FindJobOption(sweep.keys[k].name);
      if (option.part == JobOption::Part::kLayout) {
        layout.emplace_back(option.name, row.values[k]);
      } else if (!IsNumber(option)) {
        setting.emplace_back(option.name, row.values[k]);
      }
    }
    row.layout = NameOf(layout);
    row.setting = NameOf(setting);
  }
  return sweep;
}

Result<Sweep> ChooseJobs(Sweep sweep, const std::vector<std::string>& chosen) {
  std::vector<std::string> names;
  for (const SweepKey& key : sweep.keys) {
    names.push_back(key.name);
  }
  REPRISE_ASSIGN(std::vector<SweepKey> wanted, SplitKeys(chosen));
  for (SweepKey& key : wanted) {
    const std::size_t k = IndexOf(names, key.name);
    if (k == names.size()) {
      return UsageError(fmt::format("the sweep {} has no key '{}'{}; it has {}", sweep.name,
                                    ShownText(key.name), DidYouMean(key.name, names),
                                    fmt::join(names, ", ")));
    }
    const std::vector<std::string> known = sweep.keys[k].values;
    for (const std::string& value : key.values) {
      if (IndexOf(known, value) == known.size()) {
        return UsageError(fmt::format("{}: the sweep {} has no '{}'{}; it has {}", key.name,
                                      sweep.name, ShownText(value), DidYouMean(value, known),
                                      fmt::join(known, ", ")));
      }
    }
    std::erase_if(sweep.jobs, [&](const SweepJob& job) {
      return IndexOf(key.values, job.values[k]) == key.values.size();
    });
    sweep.keys[k].values = std::move(key.values);
  }
  if (sweep.jobs.empty()) {
    return UsageError(fmt::format("no job of the sweep {} has all of these values", sweep.name));
  }
  return sweep;
}

std::string ConfigurationText(const std::vector<SweepKey>& keys,
                              const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    text += fmt::format("{}{}={}", k > 0 ? " " : "", keys[k].name, values[k]);
  }
  return text;
}

}  // namespace reprise
