#include "cli/predict/job_flags.h"

#include <fmt/format.h>

#include "cli/program/number_checks.h"

namespace reprise {
namespace {

const char* GroupOf(JobOption::Part part) {
  return part == JobOption::Part::kLayout ? "Layout" : part == JobOption::Part::kStep ? "Step" : "";
}

}  // namespace

void AddJobFlags(CLI::App& app, JobOptions& options) {
  for (const JobOption& option : AllJobOptions()) {
    const std::string name = fmt::format("--{}", option.name);
    const auto add = [&](auto member) -> CLI::Option* {
      using Member = decltype(member);
      if constexpr (std::is_same_v<Member, JobOption::Switch>) {
        return app.add_flag_callback(
            name, [&options, member] { options.*member = true; }, option.help);
      } else if constexpr (std::is_same_v<Member, JobOption::Number>) {
        return app.add_option(name, options.*member, option.help)
            ->check(option.least > 0 ? Positive() : NotNegative());
      } else if constexpr (std::is_same_v<Member, JobOption::Text>) {
        return app.add_option(name, options.*member, option.help);
      } else {
        return app
            .add_option_function<typename std::decay_t<decltype(options.*member)>::value_type>(
                name, [&options, member](const auto& values) { options.*member = values; },
                option.help)
            ->delimiter(',')
            ->allow_extra_args(false);
      }
    };
    CLI::Option* const added = std::visit(add, option.member);
    if (*GroupOf(option.part) != '\0') {
      added->group(GroupOf(option.part));
    }
  }
}

}  // namespace reprise
