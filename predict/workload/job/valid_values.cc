#include "predict/workload/job/valid_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "predict/workload/job/generate.h"

namespace reprise {
namespace {

// Of an option, and how far values are looked for.
constexpr std::string_view kSizes[] = {"ranks", "tp", "pp",           "dp",          "ep",
                                       "etp",   "cp", "global-batch", "micro-batch", "lora"};
constexpr std::size_t kMostValues = 4;
constexpr std::int64_t kAllBelow = 256;  // every value up to it is tried
constexpr std::int64_t kAround = 128;    // and so many on both sides of the given one

std::vector<std::int64_t> Candidates(std::int64_t given) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = 1; value <= kAllBelow; ++value) {
    values.push_back(value);
  }
  for (std::int64_t value = std::max(kAllBelow + 1, given - kAround); value <= given + kAround;
       ++value) {
    values.push_back(value);
  }
  std::erase(values, given);
  // The nearest by ratio first: sizes double.
  std::ranges::stable_sort(values, {}, [given](std::int64_t value) {
    return std::abs(std::log(static_cast<double>(value) / static_cast<double>(given)));
  });
  return values;
}

bool IsValid(const JobOptions& options) {
  const auto job = DescribeJob(options);
  return job && CheckWorkload(*job);
}

std::vector<std::int64_t> ValidValues(const JobOptions& options, JobOption::Number member) {
  std::vector<std::int64_t> values;
  JobOptions tried = options;
  for (const std::int64_t value : Candidates(*(options.*member))) {
    tried.*member = value;
    if (IsValid(tried)) {
      values.push_back(value);
      if (values.size() == kMostValues) {
        break;
      }
    }
  }
  std::ranges::sort(values);
  return values;
}

std::string OneOf(const std::vector<std::int64_t>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == values.size() ? " or " : ", ", values[i]);
  }
  return text;
}

}  // namespace

std::string ValidValuesText(const JobOptions& options) {
  std::string text;
  for (const std::string_view name : kSizes) {
    const auto* const member =
        std::get_if<JobOption::Number>(&FindJobOption(std::string(name))->member);
    if (!(options.*(*member)) || *(options.*(*member)) < 1) {
      continue;
    }
    if (const auto values = ValidValues(options, *member); !values.empty()) {
      text += fmt::format("{}--{} {}", text.empty() ? "" : "; ", name, OneOf(values));
    }
  }
  return text;
}

Result<Workload> MakeJobOrSuggest(const JobOptions& options) {
  auto job = MakeJob(options);
  if (job || job.error().kind != ErrorKind::kUsage) {
    return job;
  }
  const std::string values = ValidValuesText(options);
  return values.empty()
             ? std::move(job)
             : UsageError(fmt::format("{}\nWith the rest as it is, this breaks no rule: {}",
                                      job.error().message, values));
}

}  // namespace reprise
