// Short names for what some options of a job say together: of a layout, "tp8 pp2 fsdp".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "predict/workload/job/options.h"

namespace reprise {

using GivenOptions = std::vector<std::pair<std::string, std::string>>;  // name and text

// Whether its values are single numbers, which a figure can have an axis for.
[[nodiscard]] inline bool IsNumber(const JobOption& option) {
  return std::holds_alternative<JobOption::Number>(option.member);
}

// Numbers as "tp8", switches as "fsdp" or "fsdp=off", others as "recompute=full", in this order.
[[nodiscard]] inline std::string NameOf(const GivenOptions& given) {
  std::string name;
  for (const auto& [key, text] : given) {
    const JobOption* const option = FindJobOption(key);
    const bool number = option != nullptr && IsNumber(*option);
    const bool on = option != nullptr && text == "on" &&
                    std::holds_alternative<JobOption::Switch>(option->member);
    name += (name.empty() ? "" : " ") + key;
    name += number ? text : on ? "" : "=" + text;
  }
  return name;
}

}  // namespace reprise
