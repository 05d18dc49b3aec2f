// Pieces of a Kineto file's text, for formats that are read as one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reprise::pytorch {

// A text in quotes; what is no UTF-8 is replaced.
void AppendQuoted(std::string_view text, std::string& out);
void AppendInteger(std::int64_t value, std::string& out);
// A member's name, which needs no escapes, and ':'.
void AppendMember(std::string_view name, std::string& out);
// Null for what JSON has no number for.
void AppendReal(double value, std::string& out);
// ns as µs with three decimals.
void AppendMicroseconds(std::int64_t ns, std::string& out);

// The arguments of an event, in any order. A name needs no escapes.
class EventArguments {
 public:
  void Add(std::string_view name, std::int64_t value);
  void Add(std::string_view name, std::string_view value);
  void Add(std::string_view name, const std::array<std::int64_t, 3>& sizes);
  [[nodiscard]] bool empty() const { return text_.empty(); }
  // As an object of JSON. None are left.
  [[nodiscard]] std::string Take();

 private:
  void Begin(std::string_view name);
  std::string text_;
};

// A list of Chrome's events that grows. Members of an event follow its Begin, in any order.
struct EventList {
  std::string text;
  std::optional<std::int64_t> base_ns;  // that times are relative to

  void Begin(std::string_view phase);
  void AddText(std::string_view name, std::string_view value);
  void AddNumber(std::string_view name, std::int64_t value);
  void AddRow(std::int64_t process, std::int64_t thread);
  void AddTime(std::int64_t at_ns);
  void AddDuration(std::int64_t duration_ns);
  // An object, as JSON.
  void AddArguments(std::string_view object);
  void End() { text += '}'; }

 private:
  bool first_ = true;
};

}  // namespace reprise::pytorch
