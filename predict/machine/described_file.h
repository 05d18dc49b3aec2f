// What files of machines and of software stacks have in common: JSON in which every number says
// where it comes from, built into the program by name, or a file of the user's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedded_file.h"
#include "core/result.h"
#include "predict/machine/machine.h"
#include "predict/machine/units.h"

namespace reprise {

// The words of messages.
struct FileKind {
  std::string_view what;    // "machine"
  std::string_view listed;  // `reprise list machines`
  std::string_view page;    // docs/machine_format.md
};
inline constexpr FileKind kMachineFile = {"machine", "machines", "docs/machine_format.md"};
inline constexpr FileKind kStackFile = {"stack", "stacks", "docs/stacks.md"};

// Names of built-in files, without ".json"; ascending.
[[nodiscard]] std::vector<std::string> BuiltInNames(std::span<const EmbeddedFile> files);

struct DescribedText {
  std::string text;
  std::string origin;  // what messages begin with
};
// Of the built-in file of this name, or of a file: what has a '/' or ends in ".json" is a path. Bad
// input for an unknown name (the nearest is named) and a file that cannot be read.
[[nodiscard]] Result<DescribedText> ReadBuiltInOrFile(std::span<const EmbeddedFile> files,
                                                      const std::string& name_or_path,
                                                      const FileKind& kind);

// One object. Bad input: no JSON; a key that stands twice in one object, for JSON's readers keep
// one of them.
[[nodiscard]] Result<nlohmann::ordered_json> ParseDescribed(std::string_view text,
                                                            const std::string& origin,
                                                            const FileKind& kind);

// Messages begin with `path`. Bad input: no text, or an empty one.
[[nodiscard]] Result<std::string> ReadText(const nlohmann::ordered_json& object,
                                           const std::string& key, const std::string& path);
// {"value", "unit", "source", "reference"}, in base units. `counted`: "per" and "ways" may be
// there, too. Bad input: another key, one that is missing, a unit of another dimension.
[[nodiscard]] Result<SourcedNumber> ReadSourcedNumber(const nlohmann::ordered_json& value,
                                                      const std::string& path, Dimension dimension,
                                                      bool counted = false);

}  // namespace reprise
