// A text that many values have, such as the name of an operation: copies share one, so that a
// million nodes do not hold a million names. It reads as a std::string that does not change.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <concepts>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace reprise {

class SharedText {
 public:
  SharedText() = default;  // empty
  // NOLINTBEGIN(google-explicit-constructor): it stands for a text
  SharedText(std::string text)
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(std::string_view text) : SharedText(std::string(text)) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}

  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] const std::string& str() const {
    static const std::string empty;
    return text_ == nullptr ? empty : *text_;
  }

  [[nodiscard]] bool empty() const { return text_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return str().size(); }
  [[nodiscard]] bool starts_with(std::string_view begin) const { return str().starts_with(begin); }
  // Equal where two are copies of one; texts that are equal may have others.
  [[nodiscard]] const void* identity() const { return text_.get(); }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.str() == b.str();
  }
  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const SharedText& a, const Text& b) {
    return std::string_view(a.str()) == std::string_view(b);
  }
  friend std::strong_ordering operator<=>(const SharedText& a, const SharedText& b) {
    return a.str() <=> b.str();
  }
  friend std::ostream& operator<<(std::ostream& out, const SharedText& text) {
    return out << text.str();
  }

 private:
  std::shared_ptr<const std::string> text_;  // null: empty
};

// Texts, each held once.
class SharedTexts {
 public:
  [[nodiscard]] const SharedText& Of(std::string_view text) {
    if (const auto found = texts_.find(text); found != texts_.end()) {
      return found->second;
    }
    SharedText held = text;
    const std::string_view key = held.str();
    return texts_.emplace(key, std::move(held)).first->second;
  }

 private:
  std::unordered_map<std::string_view, SharedText> texts_;  // keys are the values' own
};

}  // namespace reprise

template <>
struct fmt::formatter<reprise::SharedText> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const reprise::SharedText& text, Context& context) const {
    return fmt::formatter<std::string_view>::format(text.str(), context);
  }
};
