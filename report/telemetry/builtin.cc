#include <array>

#include "report/telemetry/source.h"

namespace reprise {

#define SOURCE(open, name, help) SourceKind::Opened open(const SourceOptions& options);
#include "report/telemetry/builtin.def"
#undef SOURCE

std::span<const SourceKind> BuiltinSources() {
  static constexpr auto kSources = std::to_array<SourceKind>({
#define SOURCE(open, name, help) {name, help, &open},
#include "report/telemetry/builtin.def"
#undef SOURCE
  });
  return kSources;
}

}  // namespace reprise
