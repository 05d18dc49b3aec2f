#include "converters/pytorch/kineto/event_list.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/clock.h"
#include "core/utf8.h"

namespace reprise::pytorch {

void AppendQuoted(std::string_view text, std::string& out) {
  if (!IsValidUtf8(text)) {
    AppendQuoted(ReplaceInvalidUtf8(text), out);
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void AppendInteger(std::int64_t value, std::string& out) {
  std::array<char, 20> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end);
}

void AppendMember(std::string_view name, std::string& out) {
  out += '"';
  out += name;
  out += "\":";
}

void AppendReal(double value, std::string& out) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += "null";
  }
}

void AppendMicroseconds(std::int64_t ns, std::string& out) {
  const auto size = static_cast<std::uint64_t>(ns < 0 ? -ns : ns);
  constexpr auto kNsPerUsUnsigned = static_cast<std::uint64_t>(kNsPerUs);
  const std::uint64_t rest = size % kNsPerUsUnsigned;
  out += ns < 0 ? "-" : "";
  AppendInteger(static_cast<std::int64_t>(size / kNsPerUsUnsigned), out);
  out += {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
          static_cast<char>('0' + rest % 10)};
}

void EventArguments::Begin(std::string_view name) {
  text_ += text_.empty() ? '{' : ',';
  AppendMember(name, text_);
}

void EventArguments::Add(std::string_view name, std::int64_t value) {
  Begin(name);
  AppendInteger(value, text_);
}

void EventArguments::Add(std::string_view name, std::string_view value) {
  Begin(name);
  AppendQuoted(value, text_);
}

void EventArguments::Add(std::string_view name, const std::array<std::int64_t, 3>& sizes) {
  Begin(name);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    text_ += i == 0 ? '[' : ',';
    AppendInteger(sizes.at(i), text_);
  }
  text_ += ']';
}

std::string EventArguments::Take() { return std::exchange(text_, {}) + '}'; }

void EventList::Begin(std::string_view phase) {
  text += first_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
  text += phase;
  text += '"';
  first_ = false;
}

void EventList::AddText(std::string_view name, std::string_view value) {
  text += ',';
  AppendMember(name, text);
  AppendQuoted(value, text);
}

void EventList::AddNumber(std::string_view name, std::int64_t value) {
  text += ',';
  AppendMember(name, text);
  AppendInteger(value, text);
}

void EventList::AddRow(std::int64_t process, std::int64_t thread) {
  AddNumber("pid", process);
  AddNumber("tid", thread);
}

void EventList::AddTime(std::int64_t at_ns) {
  text += ",\"ts\":";
  AppendMicroseconds(at_ns - base_ns.value_or(0), text);
}

void EventList::AddDuration(std::int64_t duration_ns) {
  text += ",\"dur\":";
  AppendMicroseconds(duration_ns, text);
}

void EventList::AddArguments(std::string_view object) {
  text += ",\"args\":";
  text += object;
}

}  // namespace reprise::pytorch
