#include "cli/program/option_tree.h"

#include <iterator>

namespace reprise {
namespace {

// CLI11 describes checks only as "TEXT:{kernels,formats}" or "INT:POSITIVE".
void DescribeValue(const CLI::Option& option, OptionFacts& facts) {
  if (option.get_items_expected_max() == 0) {
    return;
  }
  facts.needs_value = option.get_items_expected_min() > 0;
  facts.type = option.get_type_name();
  const std::size_t colon = facts.type.find(':');
  if (colon == std::string::npos) {
    return;
  }
  facts.limits = facts.type.substr(colon + 1);
  facts.type.resize(colon);
  if (facts.limits.starts_with('{') && facts.limits.ends_with('}')) {
    facts.choices = CLI::detail::split(facts.limits.substr(1, facts.limits.size() - 2), ',');
    facts.limits.clear();
  }
}

OptionFacts Describe(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) {
    facts.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    facts.names.push_back("--" + name);
  }
  if (option.get_positional()) {
    facts.positional = option.get_name(/*positional=*/true);
  }
  DescribeValue(option, facts);
  facts.default_value = option.get_default_str();
  facts.help = option.get_description();
  facts.group = option.get_group();
  facts.required = option.get_required();
  facts.repeats = option.get_items_expected_max() > 1;
  return facts;
}

}  // namespace

std::string CommandPath(const CLI::App& app) {
  // The program's own name is as it was called, with its directory.
  return app.get_parent() == nullptr ? "reprise"
                                     : CommandPath(*app.get_parent()) + " " + app.get_name();
}

const CLI::App& GivenCommand(const CLI::App& app) {
  return app.get_subcommands().empty() ? app : GivenCommand(*app.get_subcommands().back());
}

const CLI::Option* GivenOption(const CLI::App& app, const std::string& name) {
  for (const CLI::App* given = &GivenCommand(app); given != nullptr; given = given->get_parent()) {
    const CLI::Option* const option = given->get_option_no_throw(name);
    if (option != nullptr && option->count() > 0) {
      return option;
    }
  }
  return nullptr;
}

CommandFacts DescribeCommands(const CLI::App& app) {
  CommandFacts facts;
  facts.path = CommandPath(app);
  facts.name = app.get_parent() == nullptr ? facts.path : app.get_name();
  facts.description = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) {
      auto& list = option->get_positional() ? facts.positionals : facts.options;
      list.push_back(Describe(*option));
    }
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      facts.commands.push_back(DescribeCommands(*command));
    }
  }
  return facts;
}

std::vector<const CommandFacts*> AllCommands(const CommandFacts& command) {
  std::vector<const CommandFacts*> all = {&command};
  for (const CommandFacts& below : command.commands) {
    const auto more = AllCommands(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace reprise
