#include "converters/converter.h"

#include <fmt/format.h>

#include <array>

namespace reprise {

#define CONVERTER(name) ConverterKind name##Converter();
#include "converters/builtin.def"
#undef CONVERTER

std::span<const ConverterKind> BuiltinConverters() {
  static const std::array kKinds = {
#define CONVERTER(name) name##Converter(),
#include "converters/builtin.def"
#undef CONVERTER
  };
  return kKinds;
}

const ConverterKind* FindConverter(std::string_view name) {
  for (const ConverterKind& kind : BuiltinConverters()) {
    if (kind.name == name) {
      return &kind;
    }
  }
  return nullptr;
}

const ConverterKind* SniffConverter(const std::string& path) {
  for (const ConverterKind& kind : BuiltinConverters()) {
    if (kind.sniff(path)) {
      return &kind;
    }
  }
  return nullptr;
}

Status RefuseLosses(const Diagnostics& diagnostics,
                    std::initializer_list<std::string_view> losses) {
  for (const std::string_view name : losses) {
    if (const std::uint64_t count = diagnostics.CountOf(name); count > 0) {
      const auto snapshot = diagnostics.Snapshot();
      const auto& examples = snapshot.at(std::string(name)).examples;
      return BadInput(fmt::format("{} × {} and --strict was given; first: {}", count, name,
                                  examples.empty() ? "(no example)" : examples.front()));
    }
  }
  return {};
}

}  // namespace reprise
