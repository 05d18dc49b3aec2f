// Pieces of the JSON text that Perfetto's packets become.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "converters/pytorch/perfetto/interned.h"

namespace reprise::pytorch {

// A text in quotes; what is no UTF-8 is replaced.
void AppendQuoted(std::string_view text, std::string& out);
// Null for what JSON has no number for.
void AppendReal(double value, std::string& out);
// ns as µs with three decimals.
void AppendMicroseconds(std::int64_t ns, std::string& out);

// A DebugAnnotation as a member: its name, ':' and its value. A value that is left out is an empty
// list, which packets have no other way to say. Why it can't be, for a message; empty: it is done.
// Recursive up to the limit on JSON's depth.
[[nodiscard]] std::string_view AppendAnnotation(std::string_view message,
                                                const InternedTexts& texts, std::string& out);

// A list of Chrome's events that grows. Members of an event follow its Begin, in any order.
struct EventList {
  std::string text;
  std::optional<std::int64_t> base_ns;  // that times are relative to

  void Begin(std::string_view phase);
  void AddText(std::string_view name, std::string_view value);
  void AddNumber(std::string_view name, std::int64_t value);
  void AddRow(std::int64_t process, std::int64_t thread);
  void AddTime(std::int64_t at_ns);
  // An object, as JSON.
  void AddArguments(std::string_view object);
  void End() { text += '}'; }

 private:
  bool first_ = true;
};

}  // namespace reprise::pytorch
