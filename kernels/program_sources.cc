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
  // Compilers then report lines of the file itself.
  source += "\n#line 1 \"" + std::string(name) + "\"\n";
  source += program->text;
  return source;
}

}  // namespace reprise
