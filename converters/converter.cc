#include "converters/converter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "core/counters.h"

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
  std::map<std::string, std::int64_t> counts;
  for (const auto& [name, counter] : snapshot) {
    counts[name] = static_cast<std::int64_t>(counter.count);
  }
  const std::vector<CounterSentence> sentences = DescribeCounters(counts);
  for (const std::string_view name : losses) {
    for (const auto& [counted, counter] : snapshot) {  // perhaps with a detail behind its name
      if (counted == name || counted.starts_with(fmt::format("{}: ", name))) {
        const auto sentence = std::ranges::find(sentences, name, &CounterSentence::name);
        return BadInput(
            fmt::format("{} × {} and --strict was given: {}; first: {}", counter.count, counted,
                        sentence == sentences.end() ? "a loss" : sentence->text,
                        counter.examples.empty() ? "(no example)" : counter.examples.front()));
      }
    }
  }
  return {};
}

}  // namespace reprise
