#include "kernels/program_sources.h"

#include <algorithm>

namespace reprise {
namespace {

constexpr std::string_view kPrelude = "common.cl";
constexpr std::string_view kInclude = "#include \"";

const EmbeddedFile* Find(std::string_view name) {
  const auto programs = EmbeddedPrograms();
  const auto it = std::ranges::find(programs, name, &EmbeddedFile::name);
  return it == programs.end() ? nullptr : &*it;
}

// Appends the text with its lines `#include "name"` replaced by the embedded file of that name;
// #line keeps the compiler's messages about the file itself.
void AppendExpanded(const EmbeddedFile& program, std::string& source) {
  source += "\n#line 1 \"" + std::string(program.name) + "\"\n";
  std::string_view rest = program.text;
  for (int line = 1; !rest.empty(); ++line) {
    const auto end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end);
    const EmbeddedFile* included = nullptr;
    if (text.starts_with(kInclude)) {
      const std::string_view name = text.substr(kInclude.size());
      included = Find(name.substr(0, name.find('"')));
    }
    if (included == nullptr) {
      source += text;
      continue;
    }
    AppendExpanded(*included, source);
    source += "\n#line " + std::to_string(line + 1) + " \"" + std::string(program.name) + "\"\n";
  }
}

}  // namespace

std::optional<std::string> ProgramSource(std::string_view name) {
  const EmbeddedFile* program = Find(name);
  if (program == nullptr || name == kPrelude) {
    return std::nullopt;
  }
  std::string source;
  if (const EmbeddedFile* prelude = Find(kPrelude)) {
    source += prelude->text;
  }
  AppendExpanded(*program, source);
  return source;
}

}  // namespace reprise
