#include "kernels/program_sources.h"

#include <algorithm>

namespace reprise {
namespace {

constexpr std::string_view kPrelude = "common.cl";

const EmbeddedProgram* Find(std::string_view name) {
  const auto programs = EmbeddedPrograms();
  const auto it = std::find_if(programs.begin(), programs.end(),
                               [&](const EmbeddedProgram& p) { return p.name == name; });
  return it == programs.end() ? nullptr : &*it;
}

// The program's text, each line `#include "other.cl"` replaced by that file. There is no include
// path: the files are inside the executable.
std::string Expand(const EmbeddedProgram& program) {
  constexpr std::string_view kInclude = "#include \"";
  std::string source;
  std::string_view rest = program.text;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    const EmbeddedProgram* included = nullptr;
    if (text.starts_with(kInclude) && text.ends_with('"')) {
      included = Find(text.substr(kInclude.size(), text.size() - kInclude.size() - 1));
    }
    if (included == nullptr) {
      source.append(text).append("\n");
      continue;
    }
    // Compilers then report lines of the files themselves.
    source += "#line 1 \"" + std::string(included->name) + "\"\n" + Expand(*included);
    source += "#line " + std::to_string(line + 1) + " \"" + std::string(program.name) + "\"\n";
  }
  return source;
}

}  // namespace

std::optional<std::string> ProgramSource(std::string_view name) {
  const EmbeddedProgram* program = Find(name);
  if (program == nullptr || name == kPrelude) {
    return std::nullopt;
  }
  std::string source;
  if (const EmbeddedProgram* prelude = Find(kPrelude)) {
    source += prelude->text;
  }
  source += "\n#line 1 \"" + std::string(name) + "\"\n" + Expand(*program);
  return source;
}

}  // namespace reprise
