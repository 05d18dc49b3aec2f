#include "cli/program/usage_message.h"

#include <fmt/format.h>

#include <vector>

#include "cli/program/option_tree.h"
#include "core/nearest.h"

namespace reprise {
namespace {

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> LongOptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

// What stands on the line and is no option, command or value.
std::string AboutLeftOver(const CLI::App& command, const std::string& word) {
  const std::string path = CommandPath(command);
  if (word.starts_with('-')) {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("{} has no option {}{} (`{} --help` shows them)", path, name,
                       DidYouMean(name, LongOptionNames(command)), path);
  }
  const std::vector<std::string> commands = CommandNames(command);
  if (!commands.empty()) {
    return fmt::format("{} has no command {}{} (`{} --help` shows them)", path, word,
                       DidYouMean(word, commands), path);
  }
  return fmt::format("{} does not take '{}' as well (`{} --help` shows what it takes)", path, word,
                     path);
}

// "--mode: ful not in {full,compute}": what CLI11 says of a value that is none of a set.
std::string AboutValue(const std::string& text) {
  const std::size_t not_in = text.find(" not in {");
  const std::size_t end = text.rfind('}');
  const std::size_t colon = text.find(": ");
  if (not_in == std::string::npos || end == std::string::npos || colon == std::string::npos ||
      colon > not_in) {
    return {};
  }
  const std::string value = text.substr(colon + 2, not_in - colon - 2);
  const std::size_t first = text.find('{') + 1;
  std::vector<std::string> known = CLI::detail::split(text.substr(first, end - first), ',');
  const std::string choices = CLI::detail::join(known, ", ");
  return fmt::format("{} takes one of {}, not '{}'{}", text.substr(0, colon), choices, value,
                     DidYouMean(value, known));
}

// "RUN is required: …", of the first that is missing, with what the help says of it; empty: none.
std::string AboutMissing(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) {
      continue;
    }
    const std::string help = option->get_description();
    return fmt::format("{} is required: {}", option->get_name(), help.substr(0, help.find('\n')));
  }
  return {};
}

}  // namespace

std::string UsageMessage(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = GivenCommand(program);
  // A mistyped option or command is why another one seems to be missing: it is named first.
  if (const std::vector<std::string> words = command.remaining(); !words.empty()) {
    return AboutLeftOver(command, words.front());
  }
  if (const std::vector<std::string> words = program.remaining(); !words.empty()) {
    return AboutLeftOver(program, words.front());
  }
  const std::string path = CommandPath(command);
  if (error.get_name() == "RequiredError") {
    const std::string missing = AboutMissing(command);
    return missing.empty() ? fmt::format("{} needs a command (`{} --help` shows them)", path, path)
                           : fmt::format("{}: {} (`{} --help` shows more)", path, missing, path);
  }
  std::string text = AboutValue(error.what());
  if (text.empty()) {
    text = fmt::format("{}: {}", path, error.what());
  }
  return fmt::format("{} (`{} --help` shows what fits)", text, path);
}

}  // namespace reprise
