#include "converters/converter.h"

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

}  // namespace reprise
