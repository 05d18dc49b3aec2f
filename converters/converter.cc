#include "converters/converter.h"

#include <fmt/format.h>

#include <array>

namespace reprise {

#define CONVERTER(name) ConverterKind name##Converter();
#include "converters/builtin.def"
#undef CONVERTER

std::span<const ConverterKind> BuiltinConverters() {
  static const std::array kinds = {
#define CONVERTER(name) name##Converter(),
#include "converters/builtin.def"
#undef CONVERTER
  };
  return kinds;
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
  const auto snapshot = diagnostics.Snapshot();
  for (const std::string_view name : losses) {
    for (const auto& [counted, counter] : snapshot) {  // perhaps with a detail behind its name
      if (counted == name || counted.starts_with(fmt::format("{}: ", name))) {
        return BadInput(
            fmt::format("{} × {} and --strict was given; first: {}", counter.count, counted,
                        counter.examples.empty() ? "(no example)" : counter.examples.front()));
      }
    }
  }
  return {};
}

}  // namespace reprise
